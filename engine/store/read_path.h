// The read path: memtables, then tables in the order of read_order.h.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "engine/base/pinned_value.h"
#include "engine/base/units.h"
#include "engine/ring/task.h"
#include "engine/store/range_covers.h"
#include "engine/store/read_order.h"
#include "engine/store/read_state.h"
#include "engine/store/statistics.h"
#include "engine/store/store.h"
#include "engine/table/background_reads.h"
#include "engine/table/internal_iterator.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_lookup.h"

namespace varve {

// Where a version was found.
enum class ReadSource : uint8_t { kTree, kLog, kBuffer };  // level 0: kTree

// What one lookup learned of the filters, and where it was answered; it is counted when the lookup ends: one
// that is given up for another does not count.
class FilterTally {
 public:
  void Add(uint32_t level, const TableLookup& lookup) {
    asked_[level] += lookup.filters_asked;
    misled_[level] += lookup.filters_misled;
  }
  // A table of which no more was asked than so many filters.
  void AddTurnedAway(uint32_t level, size_t filters) { asked_[level] += static_cast<uint16_t>(filters); }
  void AddBuffered(uint32_t level) { buffered_[level] += 1; }
  void AnsweredBy(uint32_t level, ReadSource source) {
    answered_level_ = static_cast<uint8_t>(level);
    source_ = source;
  }
  void AddTo(HotCounters::Line& counters) const {
    for (size_t level = 0; level < kLevels; level++) {
      if (asked_[level] != 0) {
        counters.filters_asked[level].fetch_add(asked_[level], std::memory_order_relaxed);
      }
      if (misled_[level] != 0) {
        counters.filters_misled[level].fetch_add(misled_[level], std::memory_order_relaxed);
      }
      if (buffered_[level] != 0) {
        counters.buffered_asked[level].fetch_add(buffered_[level], std::memory_order_relaxed);
      }
    }
    if (answered_level_ < kLevels) {
      std::atomic<uint64_t>* const by = source_ == ReadSource::kTree ? &counters.answered[answered_level_]
                                        : source_ == ReadSource::kLog
                                            ? &counters.answered_by_log[answered_level_]
                                            : &counters.answered_by_buffer[answered_level_];
      by->fetch_add(1, std::memory_order_relaxed);
    }
  }

 private:
  std::array<uint16_t, kLevels> asked_{}, misled_{}, buffered_{};
  uint8_t answered_level_ = kLevels;
  ReadSource source_ = ReadSource::kTree;
};

// One point lookup: memtables, then tables. It stops wherever a block is missing and goes on once it is
// there.
class PointRead {
 public:
  // `tables`, `counters` and the bytes of `key` must outlive it.
  PointRead(const TableEnvironment& tables, ReadStates::Pin state, std::string_view key, SequenceNumber at,
            HotCounters::Line& counters);
  PointRead(PointRead&&) = default;
  // `key` has the same bytes as the other's.
  PointRead(PointRead&& other, std::string_view key) : PointRead(std::move(other)) { query_.user_key = key; }

  // Once: the answer from what is in memory; disengaged when a block is missing. A value found in a memtable
  // takes the state along as its pin.
  std::optional<Store::Lookup> TryMemory();
  // Once, after a TryMemory that missed a block: reads it, and what is missing then, until there is an
  // answer. `readahead` must outlive the Task.
  Task<Store::Lookup> Read(CacheFill fill, LookupReadahead& readahead);

 private:
  std::optional<Store::Lookup> SearchTables();
  // Makes walk_ the next search of a table; false: there is none.
  bool NextWalk();
  // Makes asked_ the next table that may hold the key, for all that filters at hand know, and `turned_away`
  // how many of its segments do not; false: there is none.
  bool NextTable(size_t& turned_away);
  void FillAhead();
  bool in_buffer() const { return gated_.has_value(); }
  // The level answers without its buffer.
  void LeaveBuffer() { buffered_ = {}; }

  const TableEnvironment* tables_;
  HotCounters::Line* counters_;
  // Whether it tells tables that they were read.
  bool counts_for_all_;
  ReadStates::Pin state_;
  PointQuery query_;
  // Range tombstones hide versions with smaller numbers.
  SequenceNumber hidden_below_;
  TableReadOrder order_;
  // Tables that come next in the order. What their filters need is fetched into the processor's caches at
  // once: waiting for memory is most of what a filter costs that says no.
  static constexpr uint32_t kTablesAhead = 8;
  std::array<TableToAsk, kTablesAhead> ahead_{};
  uint32_t ahead_at_ = 0, ahead_end_ = 0;
  TableToAsk asked_;
  FilterTally tally_;
  // In the table that is asked, or in one of its level's buffer; engaged between two calls: where
  // the search stands.
  std::optional<TableLookupWalk> walk_;
  // While a buffer is asked: the search in the table that made it worth asking, before its first data block.
  std::optional<TableLookupWalk> gated_;
  // What is left to ask of the level's buffer.
  std::span<const LiveTable* const> buffered_;
  // Whose buffer has been asked.
  uint32_t buffer_asked_of_ = 0;
};

// Over every record of `state` that may lie in [lower, upper) (empty upper: no bound), hidden versions and
// tombstones included, though not all that range tombstones hide at `at`; beyond some or none. `state` must
// outlive it. Long walks leave reads under way in `background`.
std::unique_ptr<InternalIterator> NewStateIterator(const TableEnvironment& tables,
                                                   BackgroundReads& background, const ReadState& state,
                                                   SequenceNumber at, std::string_view lower,
                                                   std::string_view upper, const ReadOptions& read);

}  // namespace varve
