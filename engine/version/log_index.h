// LogIndex: the tables of a Log (the SST-Log of a level) by key. Their ranges overlap and there may be
// hundreds of them, while few hold any one key: readers are not to look at each.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/version/live_table.h"
#include "engine/version/sorted_tables.h"

namespace varve {

// Threads: immutable, so any. Copies share what they hold, the tables included. What the calls return lives
// as long as any copy.
class LogIndex {
 public:
  // Of an empty Log: holds nothing.
  LogIndex() = default;
  // `log` is oldest first, as in a Level; no table in it ends before it begins. Takes O(n log n + n·depth)
  // time, and a pointer for each table over each piece of the key space between two ends of ranges.
  explicit LogIndex(const std::vector<StampedTable>& log);

  // Every table whose range contains `user_key`, newest first. The hit path of a lookup: one binary search.
  std::span<const LiveTable* const> At(std::string_view user_key) const;

  // The same tables, each once, as the fewest sorted runs that hold them all: for walks, which wait for a
  // block of each source. Runs are in no order of age.
  std::span<const SortedTables> runs() const;
  // The most tables over one key; 0 for an empty Log. There are as many runs.
  size_t depth() const { return runs().size(); }
  bool AnyOverlaps(const KeyRangeView& range) const;

 private:
  struct Content;
  // nullptr for an empty Log.
  std::shared_ptr<const Content> content_;
};

}  // namespace varve
