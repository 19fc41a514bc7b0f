// ReaderMeter: whether anybody reads, beside what is written. What flushes and merges put into the cache is
// for readers that come for it; where nobody has asked for long, copying it is in vain.
//
// Counts of readers are as of the store's beginning. Threads: one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace varve {

class ReaderMeter {
 public:
  struct Readers {
    uint64_t gets = 0;
    uint64_t walks = 0;
  };

  // A memtable of so many records goes to level 0. Returns whether gets come for what is written of it; that
  // it is cached spares walks nothing that could be measured.
  bool AddFlush(uint64_t records, const Readers& until_now);

  // Whether merges have readers: they look back on the last flushes, as many as a merge of level 0 waits for,
  // so that who reads and writes in turn keeps what he reads, and on what came since.
  bool ReadsTables(const Readers& until_now) const;
  // The same by gets alone: walks ask no views.
  bool Gets(const Readers& until_now) const;

 private:
  static constexpr size_t kFlushes = 4;

  struct Interval {
    uint64_t records = 0;
    // When it began.
    Readers from;
  };
  const Interval& oldest() const { return intervals_[next_]; }
  uint64_t records() const;

  // A ring, of which `next_` is the oldest.
  std::array<Interval, kFlushes> intervals_;
  size_t next_ = 0;
  Readers at_flush_;
};

}  // namespace varve
