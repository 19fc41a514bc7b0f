#include "engine/store/reader_meter.h"

#include <numeric>

namespace varve {

namespace {

// What is flushed stays cached while there is a get for this many records: nobody waits for the copies, which
// take the time of some hundredths of the reads.
constexpr uint64_t kFlushedForAGet = 4;
// What merges carry is what somebody has read before, so fewer are enough. For each record a merge copies a
// few times over its life, some hundredths of what a read of the device takes.
constexpr uint64_t kMergedForAReader = 64;

}  // namespace

bool ReaderMeter::AddFlush(uint64_t records, const Readers& until_now) {
  const uint64_t gets = until_now.gets - at_flush_.gets;
  intervals_[next_] = {records, at_flush_};
  next_ = (next_ + 1) % kFlushes;
  at_flush_ = until_now;
  return gets * kFlushedForAGet >= records;
}

bool ReaderMeter::ReadsTables(const Readers& until_now) const {
  const Readers& from = oldest().from;
  return (until_now.gets - from.gets + until_now.walks - from.walks) * kMergedForAReader >= records();
}

bool ReaderMeter::Gets(const Readers& until_now) const {
  return (until_now.gets - oldest().from.gets) * kMergedForAReader >= records();
}

uint64_t ReaderMeter::records() const {
  return std::accumulate(intervals_.begin(), intervals_.end(), uint64_t{0},
                         [](uint64_t sum, const Interval& interval) { return sum + interval.records; });
}

}  // namespace varve
