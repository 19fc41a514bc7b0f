// LookupReadahead: notices point lookups that go through a table in the order of its keys, as programs make
// them that visit every file of a directory, and says how far the next read should reach.
//
// Any thread. It remembers a few dozen tables and loses count of one now and then: a read that should have
// been longer, or longer than need be.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "engine/base/units.h"
#include "engine/table/table_view.h"

namespace varve {

class LookupReadahead {
 public:
  // A data block of `table` is missing. How many bytes to read from its start on; 0: the block alone.
  uint64_t PlanBytes(TableId table, const BlockHandle& block);
  // The read that was planned ends here.
  void NoteEnd(TableId table, uint64_t table_offset);

 private:
  // What is remembered of a table, in one word: whose it is, how many reads in a row began where the one
  // before had ended, and where the last one ended.
  static constexpr int kOffsetBits = 44;
  static constexpr int kStreakBits = 4;
  static constexpr size_t kTables = 64;

  struct Course {
    uint64_t table_mark;
    uint64_t streak;
    uint64_t end;
  };
  static uint64_t MarkOf(TableId table) {
    return table.value % (uint64_t{1} << (64 - kOffsetBits - kStreakBits));
  }
  static uint64_t Pack(const Course& course);
  static Course Unpack(uint64_t word);
  std::atomic<uint64_t>& WordOf(TableId table) { return words_[table.value % kTables]; }

  std::array<std::atomic<uint64_t>, kTables> words_{};
};

}  // namespace varve
