#include "engine/table/table_holes.h"

#include <gtest/gtest.h>

#include "engine/base/prng.h"

namespace varve {
namespace {

using Ranges = std::vector<TableRange>;

TableView ViewOf(std::vector<TableExtent> extents, uint64_t used_bytes) {
  TableView view;
  view.extents = std::move(extents);
  view.used_bytes = used_bytes;
  return view;
}

TEST(TableHoles, AreWholeSectorsThatNothingTouches) {
  const TableView view = ViewOf({{0, {5, 1}}}, 8192);
  EXPECT_EQ(HolesOf(view, {{0, 8192}}, 512), Ranges());
  EXPECT_EQ(HolesOf(view, {}, 512), (Ranges{{0, 8192}}));
  // A byte more on either side costs the sector.
  EXPECT_EQ(HolesOf(view, {{0, 1024}, {2048, 8192}}, 512), (Ranges{{1024, 2048}}));
  EXPECT_EQ(HolesOf(view, {{0, 1025}, {2047, 8192}}, 512), Ranges());
  EXPECT_EQ(HolesOf(view, {{0, 1025}, {2600, 8192}}, 512), (Ranges{{1536, 2560}}));
  // 4 KiB of dead bytes that lie across two sectors of 4 KiB are no hole.
  EXPECT_EQ(HolesOf(view, {{0, 2048}, {6144, 8192}}, 4096), Ranges());
}

TEST(TableHoles, EndWithTheirExtentAndWithTheTable) {
  const TableView view = ViewOf({{0, {5, 1}}, {2 * kExtentUnitBytes, {9, 2}}}, 3 * kExtentUnitBytes + 1024);
  EXPECT_EQ(HolesOf(view, {{0, 512}}, 512),
            (Ranges{{512, kExtentUnitBytes}, {2 * kExtentUnitBytes, 3 * kExtentUnitBytes + 1024}}));
}

TEST(TableHoles, UnitsThatLieWholeInHolesAreGivenBackButTheLast) {
  const uint64_t unit = kExtentUnitBytes;
  const std::vector<TableExtent> extents{{0, {10, 4}}, {4 * unit, {30, 2}}};
  EXPECT_EQ(ExtentsWithout(extents, {}, 6 * unit), extents);
  EXPECT_EQ(ExtentsWithout(extents, {{unit - 512, 3 * unit + 512}}, 6 * unit),
            (std::vector<TableExtent>{{0, {10, 1}}, {3 * unit, {13, 1}}, {4 * unit, {30, 2}}}));
  EXPECT_EQ(ExtentsWithout(extents, {{4 * unit, 6 * unit}}, 6 * unit),
            (std::vector<TableExtent>{{0, {10, 4}}, {5 * unit, {31, 1}}}));
}

TEST(TableHoles, AreWhatIsLeftOfAnyTable) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Prng prng(seed);
    const uint32_t sector = prng.OneIn(2) ? 512 : 4096;
    std::vector<TableExtent> extents;
    uint64_t at = 0;
    for (uint64_t n = 1 + prng.Below(4); n > 0; --n) {
      at += prng.Below(2) * kExtentUnitBytes;
      extents.push_back(
          {at, {static_cast<uint32_t>(at / kExtentUnitBytes * 2), 1 + static_cast<uint32_t>(prng.Below(2))}});
      at += extents.back().extent.bytes();
    }
    const uint64_t used_bytes = at - prng.Below(100) * 512;
    const TableView view = ViewOf(extents, used_bytes);
    // By sector: taken, dead, or in no extent.
    std::vector<char> sectors(CeilDiv(used_bytes, sector), 'x');
    for (const TableExtent& part : extents) {
      for (uint64_t s = part.table_offset;
           s + sector <= std::min(part.table_offset + part.extent.bytes(), used_bytes); s += sector) {
        sectors[s / sector] = 'd';
      }
    }
    Ranges used;
    for (uint64_t begin = prng.Below(5000); begin < used_bytes; begin += prng.Below(30'000)) {
      const uint64_t end = std::min(begin + 1 + prng.Below(20'000), used_bytes);
      used.push_back({begin, end});
      for (uint64_t s = begin / sector; s * sector < end; ++s) {
        sectors[s] = 'x';
      }
      begin = end;
    }
    std::vector<char> found(sectors.size(), 'x');
    uint64_t before = 0;
    for (const TableRange& hole : HolesOf(view, used, sector)) {
      ASSERT_LE(before, hole.begin);
      ASSERT_LT(hole.begin, hole.end);
      before = hole.end;
      for (uint64_t s = hole.begin / sector; s * sector < hole.end; ++s) {
        found[s] = 'd';
      }
    }
    ASSERT_EQ(found, sectors) << "seed " << seed;
  }
}

}  // namespace
}  // namespace varve
