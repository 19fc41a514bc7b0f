#include "engine/table/lookup_readahead.h"

#include <algorithm>

namespace varve {

namespace {

// Blocks that were read in order before more than one is read at once: lookups that jump about hit on the
// next block by chance, but not three times in a row.
constexpr uint64_t kInOrder = 2;
constexpr uint64_t kFirstBytes = 16 * kKiB;
constexpr uint64_t kBytesMax = 128 * kKiB;
constexpr uint64_t kStreakMax = kInOrder + 3;
static_assert(kFirstBytes << (kStreakMax - kInOrder) == kBytesMax);
// Lookups in order may pass over a few blocks: those that were cached already.
constexpr uint64_t kGapBytesMax = 16 * kKiB;

}  // namespace

uint64_t LookupReadahead::Pack(const Course& course) {
  return course.table_mark << (kOffsetBits + kStreakBits) | course.streak << kOffsetBits | course.end;
}

LookupReadahead::Course LookupReadahead::Unpack(uint64_t word) {
  constexpr uint64_t kOffsetMask = (uint64_t{1} << kOffsetBits) - 1;
  constexpr uint64_t kStreakMask = (uint64_t{1} << kStreakBits) - 1;
  return {word >> (kOffsetBits + kStreakBits), word >> kOffsetBits & kStreakMask, word & kOffsetMask};
}

uint64_t LookupReadahead::PlanBytes(TableId table, const BlockHandle& block) {
  std::atomic<uint64_t>& word = WordOf(table);
  const Course before = Unpack(word.load(std::memory_order_relaxed));
  const bool in_order = before.table_mark == MarkOf(table) && block.table_offset >= before.end &&
                        block.table_offset - before.end <= kGapBytesMax;
  const uint64_t streak = in_order ? std::min(before.streak + 1, kStreakMax) : 0;
  word.store(Pack({MarkOf(table), streak, block.end()}), std::memory_order_relaxed);
  return streak < kInOrder ? 0 : kFirstBytes << (streak - kInOrder);
}

void LookupReadahead::NoteEnd(TableId table, uint64_t table_offset) {
  std::atomic<uint64_t>& word = WordOf(table);
  Course course = Unpack(word.load(std::memory_order_relaxed));
  if (course.table_mark == MarkOf(table)) {
    course.end = table_offset;
    word.store(Pack(course), std::memory_order_relaxed);
  }
}

}  // namespace varve
