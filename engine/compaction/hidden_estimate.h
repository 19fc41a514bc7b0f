// How much of a table range tombstones hide, by its index alone: whether a merge of it gives space back.
#pragma once

#include <cstdint>

#include "engine/base/range_tombstones.h"
#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_view.h"

namespace varve {

// Bytes of the table's data blocks all of whose keys are covered by range tombstones that are not newer than
// `at`, and newer than what is known to be in the table. An estimate: a covered block of a table that has
// newer records, too, may be newer than what covers it. Reads footers and indexes. Errors: kCorruption,
// kDeviceError, kUnsupported. All must outlive the Task.
Task<Result<uint64_t>> EstimateHidden(const TableEnvironment& environment, const TableView& table,
                                      const RangeTombstones& tombstones, SequenceNumber at);

}  // namespace varve
