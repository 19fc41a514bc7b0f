// The read path: memtables, then tables in the order of read_order.h.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "engine/base/pinned_value.h"
#include "engine/base/units.h"
#include "engine/ring/task.h"
#include "engine/store/read_state.h"
#include "engine/store/store.h"
#include "engine/table/internal_iterator.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_reader.h"

namespace varve {

// The answer at `snapshot` from what is in memory; disengaged when a block is missing. A value found in a
// memtable takes `state` along as its pin.
std::optional<Store::Lookup> TryGetFrom(const TableEnvironment& tables, ReadStates::Pin& state,
                                        const PointQuery& query);

// The same with reads of the device. `tables` and the query's key must outlive the Task.
Task<Store::Lookup> GetFrom(const TableEnvironment& tables, ReadStates::Pin state, PointQuery query,
                            bool fill_cache);

// Over every record of `state` that may lie in [lower, upper) (empty upper: no bound), hidden versions and
// tombstones included. `state` must outlive it.
std::unique_ptr<InternalIterator> NewStateIterator(const TableEnvironment& tables, const ReadState& state,
                                                   std::string_view lower, std::string_view upper,
                                                   bool fill_cache);

}  // namespace varve
