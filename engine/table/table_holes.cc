#include "engine/table/table_holes.h"

#include <algorithm>

#include "engine/base/units.h"

namespace varve {

std::vector<TableRange> HolesOf(const TableView& view, std::vector<TableRange> used, uint32_t sector_bytes) {
  std::sort(used.begin(), used.end(),
            [](const TableRange& a, const TableRange& b) { return a.begin < b.begin; });
  std::vector<TableRange> holes;
  auto next = used.begin();
  for (const TableExtent& part : view.extents) {
    const uint64_t part_end = std::min(part.table_offset + part.extent.bytes(), view.used_bytes);
    uint64_t at = part.table_offset;
    while (at < part_end) {
      // What is used may reach from one extent into the next.
      while (next != used.end() && next->end <= at) {
        ++next;
      }
      const uint64_t used_begin = next != used.end() ? next->begin : part_end;
      const TableRange hole{RoundUp(at, sector_bytes),
                            RoundDown(std::min(used_begin, part_end), sector_bytes)};
      if (hole.begin < hole.end) {
        holes.push_back(hole);
      }
      at = next != used.end() ? std::max(at, next->end) : part_end;
    }
  }
  return holes;
}

std::vector<TableExtent> ExtentsWithout(const std::vector<TableExtent>& extents,
                                        const std::vector<TableRange>& holes, uint64_t used_bytes) {
  const uint64_t last_unit = used_bytes == 0 ? 0 : RoundDown(used_bytes - 1, kExtentUnitBytes);
  std::vector<TableExtent> kept;
  auto hole = holes.begin();
  for (const TableExtent& part : extents) {
    for (uint32_t unit = 0; unit < part.extent.units; ++unit) {
      const uint64_t begin = part.table_offset + unit * kExtentUnitBytes;
      while (hole != holes.end() && hole->end < begin + kExtentUnitBytes) {
        ++hole;
      }
      if (hole != holes.end() && hole->begin <= begin && begin < last_unit) {
        continue;
      }
      const uint32_t device_unit = part.extent.first_unit + unit;
      const bool follows = !kept.empty() && kept.back().extent.end_unit() == device_unit &&
                           kept.back().table_offset + kept.back().extent.bytes() == begin;
      if (follows) {
        ++kept.back().extent.units;
      } else {
        kept.push_back(TableExtent{begin, Extent{device_unit, 1}});
      }
    }
  }
  return kept;
}

}  // namespace varve
