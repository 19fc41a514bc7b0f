// The read path: memtables, then tables in the order of read_order.h.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/base/pinned_value.h"
#include "engine/base/units.h"
#include "engine/ring/task.h"
#include "engine/store/read_order.h"
#include "engine/store/read_state.h"
#include "engine/store/statistics.h"
#include "engine/store/store.h"
#include "engine/table/internal_iterator.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_lookup.h"

namespace varve {

// What one lookup learned of the filters; it is counted when the lookup ends: one that is given up for
// another does not count.
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

// One point lookup: memtables, then tables. It stops wherever a block is missing and goes on once it is
// there.
class PointRead {
 public:
  // `tables`, `counters` and the bytes of `key` must outlive it.
  PointRead(const TableEnvironment& tables, ReadStates::Pin state, std::string_view key, SequenceNumber at,
            HotCounters::Line& counters)
      : tables_(&tables),
        counters_(&counters),
        state_(std::move(state)),
        query_(key, at),
        order_(*state_->version) {}
  PointRead(PointRead&&) = default;
  // `key` has the same bytes as the other's.
  PointRead(PointRead&& other, std::string_view key) : PointRead(std::move(other)) { query_.user_key = key; }

  // Once: the answer from what is in memory; disengaged when a block is missing. A value found in a memtable
  // takes the state along as its pin.
  std::optional<Store::Lookup> TryMemory();
  // Once, after a TryMemory that missed a block: reads it, and what is missing then, until there is an
  // answer.
  Task<Store::Lookup> Read(bool fill_cache);

 private:
  std::optional<Store::Lookup> SearchTables();

  const TableEnvironment* tables_;
  HotCounters::Line* counters_;
  ReadStates::Pin state_;
  PointQuery query_;
  TableReadOrder order_;
  FilterTally tally_;
  // In the table that the order gave last; engaged between two calls: where the search stands.
  std::optional<TableLookupWalk> walk_;
};

// Over every record of `state` that may lie in [lower, upper) (empty upper: no bound), hidden versions and
// tombstones included. `state` must outlive it.
std::unique_ptr<InternalIterator> NewStateIterator(const TableEnvironment& tables, const ReadState& state,
                                                   std::string_view lower, std::string_view upper,
                                                   const ReadOptions& read);

}  // namespace varve
