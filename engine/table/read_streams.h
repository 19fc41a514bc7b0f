// ReadStreams: notices long reads of a table that follow each other, as a program makes them that reads a
// large file from front to back, and says what to read ahead of them. What was read ahead waits here for the
// read that is to come, whoever makes it.
//
// Threads: any.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/base/units.h"
#include "engine/table/passing_read.h"
#include "engine/table/table_view.h"

namespace varve {

class ReadStreams {
 public:
  // Reads in a row before the first one that is made ahead of them.
  static constexpr uint32_t kInOrder = 2;
  // Of one read ahead: a request of the kernel's, and what lies between its bytes.
  static constexpr uint64_t kReadBytes = 1 * kMiB + 128 * kKiB;
  // Two reads ahead overlap by no more.
  static constexpr uint64_t kOverlapBytesMax = 256 * kKiB;
  // So far ahead of where a read begins the next is under way.
  static constexpr uint64_t kDistanceBytes = kReadBytes + 512 * kKiB;

  // Table offsets.
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
    // Of the same walk as the one before: no further read in a row.
    bool goes_on = false;
  };

  ReadStreams() = default;
  ReadStreams(const ReadStreams&) = delete;
  ReadStreams& operator=(const ReadStreams&) = delete;

  // What was read ahead and holds all of the block; nullptr: nothing was.
  std::shared_ptr<PassingRead> Find(TableId table, const BlockHandle& block) const;
  // The table is being read in `range`: what Find had, or what was not there. Answers what to read ahead now,
  // of bytes up to `until`, which the caller then hands to Keep. Blocks that begin in one read and end in the
  // next are in both where they have at most `block_bytes`.
  std::optional<Range> Note(TableId table, Range range, uint64_t until, uint64_t block_bytes);
  void Keep(TableId table, std::shared_ptr<PassingRead> read);
  // Nothing is read ahead in `range`, which Note answered.
  void TakeBack(TableId table, Range range);
  // Forgets what was read ahead in the stream that was used longest ago, but for those of `table`. False:
  // there is none.
  bool DropOldest(TableId table);

 private:
  static constexpr size_t kStreams = 4;
  // Between two reads: parts of the index, of which the reads of others know.
  static constexpr uint64_t kGapBytesMax = 32 * kKiB;
  // Reads that came together may be answered out of order.
  static constexpr uint64_t kKeptBehindBytes = 1 * kMiB;

  struct Stream {
    TableId table;
    // Up to where reads have begun: those that were noted, and those ahead.
    uint64_t end = 0;
    // Where the last one that was noted begins.
    uint64_t at = 0;
    uint32_t in_order = 0;
    uint64_t used = 0;
    std::deque<std::shared_ptr<PassingRead>> ahead;
  };

  using Reads = std::deque<std::shared_ptr<PassingRead>>;
  // The stream that the range goes on; else the one that was used longest ago, which begins anew, and what it
  // had goes to `dropped`.
  Stream& StreamOf(TableId table, Range range, Reads& dropped);

  mutable std::mutex mutex_;  // guards the rest
  std::array<Stream, kStreams> streams_;
  uint64_t uses_ = 0;
};

}  // namespace varve
