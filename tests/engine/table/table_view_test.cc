#include "engine/table/table_view.h"

#include <gtest/gtest.h>

#include "engine/base/prng.h"
#include "tests/engine/table/table_fixture.h"

namespace varve {
namespace {

TableView ExampleView() {
  TableFixture fixture({.piece_units = 1});
  Entries entries;
  for (uint64_t i = 0; i < 2000; ++i) {
    entries[InternalKeyOf(NumberedKey(i), i, i % 5 == 0 ? RecordKind::kTombstone : RecordKind::kValue)] =
        std::string(80, 'v');
  }
  Entries newer;
  newer[InternalKeyOf("abc", 7000)] = "v";
  TableView view = fixture.Append(fixture.Build(entries), newer);
  view.stamp = InstallStamp(77);
  view.segments[0].live_bytes -= 10;
  return view;
}

std::string Encoded(const TableView& view) {
  std::string bytes;
  AppendTableView(bytes, view);
  return bytes;
}

TEST(TableView, SurvivesEncoding) {
  const TableView view = ExampleView();
  ASSERT_GT(view.extents.size(), 2u);
  const Result<TableView> decoded = DecodeTableView(Encoded(view));
  ASSERT_TRUE(decoded.ok()) << decoded.ToString();
  EXPECT_EQ(*decoded, view);
}

TEST(TableView, GapsBetweenExtentsAreAllowed) {
  TableView view = ExampleView();
  view.extents.erase(view.extents.begin() + 1);
  EXPECT_TRUE(DecodeTableView(Encoded(view)).ok());
}

TEST(TableView, UnknownFieldIsSkippedUnlessItMustBeUnderstood) {
  const TableView view = ExampleView();
  std::string bytes = Encoded(view);
  AppendVarint(bytes, 999 << 1);
  AppendLengthPrefixed(bytes, "hotness");
  const Result<TableView> decoded = DecodeTableView(bytes);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(*decoded, view);
  AppendVarint(bytes, 1000 << 1 | 1);
  AppendLengthPrefixed(bytes, "x");
  EXPECT_TRUE(DecodeTableView(bytes).Is(ErrorCode::kUnsupported));
}

TEST(TableView, WhatNoWriterMakesIsCorruption) {
  const auto refused = [](void (*spoil)(TableView&)) {
    TableView view = ExampleView();
    spoil(view);
    return DecodeTableView(Encoded(view)).Is(ErrorCode::kCorruption);
  };
  EXPECT_TRUE(refused([](TableView& view) { view.segments.clear(); }));
  EXPECT_TRUE(refused([](TableView& view) { view.segments.resize(13, view.segments[0]); }));
  EXPECT_TRUE(refused([](TableView& view) { view.extents.clear(); }));
  EXPECT_TRUE(refused([](TableView& view) { std::swap(view.extents[0], view.extents[1]); }));
  EXPECT_TRUE(refused([](TableView& view) { view.used_bytes += kGiB; }));
  EXPECT_TRUE(refused([](TableView& view) { view.used_bytes = view.data_bytes(); }));
  EXPECT_TRUE(refused([](TableView& view) { std::swap(view.smallest, view.largest); }));
  EXPECT_TRUE(refused([](TableView& view) { view.smallest = "b"; }));
  EXPECT_TRUE(refused([](TableView& view) { view.segments[0].smallest = "short"; }));
  EXPECT_TRUE(refused([](TableView& view) { view.segments[0].tombstones = 1 << 30; }));
  EXPECT_TRUE(refused([](TableView& view) { view.segments[0].live_bytes = kGiB; }));
  EXPECT_TRUE(refused([](TableView& view) { view.segments[0].footer.table_offset = UINT64_MAX; }));
  EXPECT_TRUE(refused([](TableView& view) { view.segments[0].filter.insertions = kGiB; }));
  EXPECT_TRUE(refused([](TableView& view) { view.segments[0].smallest_sequence = kSequenceNumberMax; }));
}

TEST(TableView, CutOrChangedBytesNeverCrash) {
  const std::string bytes = Encoded(ExampleView());
  for (size_t length = 0; length < bytes.size(); ++length) {
    (void)DecodeTableView(bytes.substr(0, length));
  }
  Prng prng(3);
  for (int i = 0; i < 20000; ++i) {
    std::string changed = bytes;
    for (uint64_t changes = prng.Between(1, 4); changes > 0; --changes) {
      changed[prng.Below(changed.size())] = static_cast<char>(prng.Below(256));
    }
    const Result<TableView> decoded = DecodeTableView(changed);
    if (decoded.ok()) {
      EXPECT_LE(decoded->data_bytes() + decoded->meta_bytes(), decoded->used_bytes);
    }
  }
}

}  // namespace
}  // namespace varve
