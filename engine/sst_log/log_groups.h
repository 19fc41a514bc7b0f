// The groups of a Log's tables that may leave it together: closed under "older and overlaps", so that nothing
// older stays above what went down (L2SM, section III-E; invariant of edits).
//
// Keys are compared once, when the groups are made: after that a table is two ranks among all end points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/version/busy_set.h"
#include "engine/version/version.h"

namespace varve {

// Some tables of the Log, and what their merge into the next level's Tree takes.
struct LogGroup {
  // By position in the Log, oldest first.
  std::vector<bool> members;
  // Ranks of the hull's ends.
  size_t low = 0;
  size_t high = 0;
  uint64_t input_bytes = 0;
  // Of all tables below that the hull meets.
  uint64_t child_bytes = 0;
  bool any_busy = false;

  // Bytes rewritten for each byte that goes down.
  double Cost() const;
};

// Of one Log of one Version, which must outlive it.
class LogGroups {
 public:
  LogGroups(const Version& version, const BusySet& busy, uint32_t level);

  // The table at that position in the Log with all that is older and overlaps it, transitively.
  const LogGroup& ClosureOf(size_t position) const { return closures_[position]; }
  // At most `count` groups of tables that are not busy, the cheapest first. Each is a closure, made larger by
  // others that meet its hull as long as that makes it cheaper and it stays within bytes_max. A closure that
  // is larger by itself is there only where none is smaller.
  std::vector<LogGroup> Ranked(size_t count, uint64_t bytes_max) const;
  // Oldest first.
  std::vector<std::shared_ptr<const LiveTable>> TablesOf(const LogGroup& group) const;

 private:
  struct Span {
    size_t low;
    size_t high;
    // Tables of the level below that it meets: [first_child, end_child).
    size_t first_child;
    size_t end_child;
  };

  void RankEnds();
  void FindChildren(const SortedTables& below);
  void Close(const BusySet& busy);
  // Of both groups' tables.
  LogGroup Joined(const LogGroup& a, const LogGroup& b) const;
  void Sum(LogGroup& group) const;
  LogGroup Grown(LogGroup group, uint64_t bytes_max) const;

  const std::vector<StampedTable>& log_;
  std::vector<Span> spans_;
  std::vector<bool> busy_;
  // Bytes of the first i tables below.
  std::vector<uint64_t> child_bytes_before_;
  std::vector<LogGroup> closures_;
};

}  // namespace varve
