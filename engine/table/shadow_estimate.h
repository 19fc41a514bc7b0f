// How many records of a table's segments a new segment shadows, from the filters alone.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_view.h"

namespace varve {

// For each segment of `view` the number of the keys with these hashes that it holds and no newer one of its
// segments does: an estimate from a few pages of each filter, less what filters answer wrongly. 0 for a
// segment without a filter. Looks at all hashes, in slices between which others run. Errors: kCorruption,
// kDeviceError. All must outlive the Task.
Task<Result<std::vector<uint64_t>>> EstimateShadowed(const TableEnvironment& environment,
                                                     const TableView& view,
                                                     const std::vector<uint64_t>& hashes, IoPurpose purpose);

}  // namespace varve
