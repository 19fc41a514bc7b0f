// The next generation of a segment's filter: more keys in the pages that they belong to, the other pages as
// they are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "engine/table/filter.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_view.h"

namespace varve {

struct MendedFilter {
  FilterGeometry geometry;
  // Where the pages lie; those that changed have no place yet.
  std::vector<BlockHandle> pages;
  // New payloads by number of page.
  std::map<uint32_t, std::string> changed;
  // Keys that the filter did not answer "maybe" for before: only those fill it.
  uint64_t insertions = 0;
};

// Reads the pages that `hashes` need, a few at once, and inserts. A filter without pages stays so. Errors:
// kCorruption, kDeviceError. All must outlive the Task.
Task<Result<MendedFilter>> MendFilter(const TableEnvironment& environment, const TableView& view,
                                      FilterGeometry geometry, std::vector<BlockHandle> pages,
                                      std::vector<uint64_t> hashes, IoPurpose purpose);

}  // namespace varve
