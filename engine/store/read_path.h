// The read path: memtables, then tables in the order of read_order.h.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "engine/base/pinned_value.h"
#include "engine/base/units.h"
#include "engine/ring/task.h"
#include "engine/store/read_state.h"
#include "engine/store/statistics.h"
#include "engine/store/store.h"
#include "engine/table/internal_iterator.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_reader.h"

namespace varve {

// What one lookup learned of the filters; it is counted when the lookup has its answer, so a walk that was
// begun again counts once.
class FilterTally {
 public:
  void Add(uint32_t level, const TableLookup& lookup) {
    asked_[level] += lookup.filters_asked;
    misled_[level] += lookup.filters_misled;
  }
  void AddTo(HotCounters::Line& counters) const {
    for (size_t level = 0; level < kLevels; level++) {
      if (asked_[level] != 0) {
        counters.filters_asked[level].fetch_add(asked_[level], std::memory_order_relaxed);
        counters.filters_misled[level].fetch_add(misled_[level], std::memory_order_relaxed);
      }
    }
  }

 private:
  std::array<uint16_t, kLevels> asked_{}, misled_{};
};

// The answer at `snapshot` from what is in memory; disengaged when a block is missing. A value found in a
// memtable takes `state` along as its pin.
std::optional<Store::Lookup> TryGetFrom(const TableEnvironment& tables, ReadStates::Pin& state,
                                        const PointQuery& query, HotCounters::Line& counters);

// The same with reads of the device. `tables`, `counters` and the query's key must outlive the Task.
Task<Store::Lookup> GetFrom(const TableEnvironment& tables, ReadStates::Pin state, PointQuery query,
                            bool fill_cache, HotCounters::Line& counters);

// Over every record of `state` that may lie in [lower, upper) (empty upper: no bound), hidden versions and
// tombstones included. `state` must outlive it.
std::unique_ptr<InternalIterator> NewStateIterator(const TableEnvironment& tables, const ReadState& state,
                                                   std::string_view lower, std::string_view upper,
                                                   const ReadOptions& read);

}  // namespace varve
