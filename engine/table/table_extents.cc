#include "engine/table/table_extents.h"

#include <algorithm>

namespace varve {

TableRun RunAt(const std::vector<TableExtent>& extents, uint64_t table_offset, uint64_t bytes) {
  const auto after =
      std::upper_bound(extents.begin(), extents.end(), table_offset,
                       [](uint64_t offset, const TableExtent& part) { return offset < part.table_offset; });
  if (after == extents.begin()) {
    return {};
  }
  auto part = after - 1;
  const uint64_t within = table_offset - part->table_offset;
  if (within >= part->extent.bytes()) {
    return {};
  }
  TableRun run{part->extent.offset() + within, part->extent.bytes() - within};
  // Extents that were taken apart may still lie side by side.
  for (auto next = part + 1; next != extents.end() && run.bytes < bytes; part = next, ++next) {
    if (next->table_offset != part->table_offset + part->extent.bytes() ||
        next->extent.offset().value != part->extent.offset().value + part->extent.bytes()) {
      break;
    }
    run.bytes += next->extent.bytes();
  }
  run.bytes = std::min(run.bytes, bytes);
  return run;
}

}  // namespace varve
