// A device, a cache and space for tables, and what most tests do with them.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/internal_key.h"
#include "engine/cache/block_cache.h"
#include "engine/ring/local_executor.h"
#include "engine/table/table_builder.h"
#include "engine/table/table_reader.h"
#include "tests/support/fault_list.h"
#include "tests/support/memory_device.h"
#include "tests/support/table_get.h"

namespace varve {

// Newest version of a user key first, as internal keys sort.
struct InternalKeyLess {
  bool operator()(const std::string& a, const std::string& b) const { return CompareInternalKeys(a, b) < 0; }
};
using Entries = std::map<std::string, std::string, InternalKeyLess>;

inline std::string InternalKeyOf(std::string_view user_key, uint64_t sequence,
                                 RecordKind kind = RecordKind::kValue) {
  std::string key;
  AppendInternalKey(key, user_key, SequenceNumber(sequence), kind);
  return key;
}

// Hands out the device from front to back, in extents of at most `piece_units`, each followed by a gap when
// there is a limit: so tables lie in pieces.
class PieceSource final : public ExtentSource {
 public:
  explicit PieceSource(uint32_t piece_units = UINT32_MAX) : piece_units_(piece_units) {}

  Result<std::vector<Extent>> Take(uint64_t bytes_wanted) override {
    if (fail_) {
      return NoSpace("as the test wants");
    }
    auto units = static_cast<uint32_t>(CeilDiv(bytes_wanted, kExtentUnitBytes));
    std::vector<Extent> taken;
    while (units > 0) {
      const uint32_t piece = std::min(units, piece_units_);
      taken.push_back(Extent{next_unit_, piece});
      next_unit_ += piece + (piece_units_ == UINT32_MAX ? 0 : 1);
      units -= piece;
      units_out_ += piece;
    }
    return taken;
  }
  void GiveBack(Extent extent) override { units_out_ -= extent.units; }

  void FailFromNow() { fail_ = true; }
  uint64_t units_out() const { return units_out_; }

 private:
  const uint32_t piece_units_;
  uint32_t next_unit_ = 1;
  uint64_t units_out_ = 0;
  bool fail_ = false;
};

struct TableFixtureOptions {
  uint32_t sector_bytes = 512;
  uint64_t device_bytes = 64 * kMiB;
  uint64_t cache_bytes = 4 * kMiB;
  uint32_t piece_units = UINT32_MAX;
  bool yields = false;
};

class TableFixture {
 public:
  using Options = TableFixtureOptions;

  explicit TableFixture(Options options = {})
      : device(MemoryDeviceOptions{.size_bytes = options.device_bytes,
                                   .sector_bytes = options.sector_bytes,
                                   .yields = options.yields}),
        cache(options.cache_bytes),
        source(options.piece_units),
        environment{device, cache, StoreUuid{1, 2, 3}} {}

  template <typename T>
  T Run(Task<T> task) {
    return executor.Run(std::move(task));
  }

  TableView Build(const Entries& entries, SegmentOptions segment = {}, uint64_t id = 7) {
    TableBuilderOptions options;
    options.id = TableId(id);
    options.segment = segment;
    options.expected_bytes = 256 * kKiB;
    TableBuilder builder(environment, source, options);
    Result<TableView> view = Run(BuildAll(builder, entries));
    EXPECT_TRUE(view.ok()) << view.ToString();
    return std::move(view).value();
  }

  // What an append merge does: one more segment, on fresh sectors of the same table.
  TableView Append(const TableView& view, const Entries& entries, SegmentOptions options = {}) {
    TableWriter writer(device, source, IoPurpose::kCompaction, view.extents, view.used_bytes, 64 * kKiB);
    TableView next = view;
    next.generation = view.generation.Next();
    SegmentBuilder segment(environment, view.id, next.generation, static_cast<uint32_t>(view.segments.size()),
                           writer, options);
    for (const auto& [key, value] : entries) {
      segment.Add(key, value);
    }
    next.segments.push_back(segment.Finish());
    const Status written = Run(writer.Finish());
    EXPECT_TRUE(written.ok()) << written.ToString();
    next.extents = writer.extents();
    next.used_bytes = writer.used_bytes();
    next.smallest = std::min(view.smallest, std::string(next.segments.back().smallest_user_key()));
    next.largest = std::max(view.largest, std::string(next.segments.back().largest_user_key()));
    return next;
  }

  Result<TableLookup> Get(const TableView& view, std::string_view user_key,
                          uint64_t snapshot = kSequenceNumberMax.value, bool fill_cache = true) {
    return Run(GetFromTable(environment, view, PointQuery(user_key, SequenceNumber(snapshot)), fill_cache));
  }

  std::vector<std::string> Verify(const TableView& view) {
    FaultList list;
    const Status status = Run(VerifyTable(environment, view, list));
    EXPECT_TRUE(status.ok()) << status.ToString();
    std::vector<std::string> faults;
    for (const TableFault& fault : list.faults) {
      faults.push_back(fault.what);
    }
    return faults;
  }

  // Completes a move.
  void Finish(InternalIterator& iterator, Step step) {
    if (step == Step::kNeedsIo) {
      Run(iterator.Load());
    }
  }

  // Where a table offset lies on the device.
  static uint64_t DeviceOffsetOf(const TableView& view, uint64_t table_offset) {
    for (const TableExtent& part : view.extents) {
      if (table_offset >= part.table_offset && table_offset < part.table_offset + part.extent.bytes()) {
        return part.extent.offset().value + table_offset - part.table_offset;
      }
    }
    ADD_FAILURE() << "offset outside the table";
    return 0;
  }

  SystemClock clock;
  LocalExecutor executor{clock};
  MemoryDevice device;
  BlockCache cache;
  PieceSource source;
  TableEnvironment environment;

 private:
  static Task<Result<TableView>> BuildAll(TableBuilder& builder, const Entries& entries) {
    for (const auto& [key, value] : entries) {
      builder.Add(key, value);
      if (builder.WantsDrain()) {
        const Status status = co_await builder.Drain();
        EXPECT_TRUE(status.ok()) << status.ToString();
      }
    }
    Result<TableView> view = co_await builder.Finish();
    co_return view;
  }
};

// "key000042"
inline std::string NumberedKey(uint64_t n) {
  std::string digits = std::to_string(n);
  return "key" + std::string(6 - std::min<size_t>(6, digits.size()), '0') + digits;
}

// One version each of every `step`th key.
inline Entries NumberedEntries(uint64_t count, size_t value_bytes, uint64_t step = 1) {
  Entries entries;
  for (uint64_t i = 0; i < count; ++i) {
    entries[InternalKeyOf(NumberedKey(i * step), 1000 + i)] =
        std::string(value_bytes, static_cast<char>('a' + i % 26));
  }
  return entries;
}

inline std::string ValueOf(const Result<TableLookup>& found) {
  if (!found.ok()) {
    return found.ToString();
  }
  switch (found->kind) {
    case TableLookup::Kind::kAbsent:
      return "(absent)";
    case TableLookup::Kind::kTombstone:
      return "(tombstone)";
    case TableLookup::Kind::kInBlock:  // only of searches that end before data blocks
    case TableLookup::Kind::kValue:
      return std::string(found->value.bytes());
  }
  return "(?)";
}

}  // namespace varve
