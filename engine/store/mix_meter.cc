#include "engine/store/mix_meter.h"

#include <algorithm>
#include <utility>

namespace varve {

namespace {

// A level takes up what it holds in about as many, so that a window sees each kind of merge.
constexpr uint64_t kFlushes = 16;
// Memtables that are written out early hold little: so many full ones it has to be at least.
constexpr uint64_t kMemtables = 4;

uint64_t Less(uint64_t all, uint64_t part) {
  return all - std::min(all, part);
}

}  // namespace

void MixMeter::OnFlushed(const Memtable::Totals& memtable) {
  written_.flushes++;
  written_.flushed_bytes += memtable.user_bytes;
  written_.deletes += memtable.tombstones;
  written_.puts += Less(memtable.entries, memtable.tombstones);
}

bool MixMeter::IsFull(uint64_t memtable_bytes) const {
  return written_.flushes >= kFlushes && written_.flushed_bytes >= kMemtables * memtable_bytes;
}

Mix MixMeter::Take() {
  Mix mix = std::exchange(written_, {});
  const Counts now = Now();
  const Counts before = std::exchange(since_, now);
  mix.gets = now.gets - before.gets;
  mix.scans = now.scans - before.scans;
  // Each is read while others add to them: by one moment's get too few or too many.
  const uint64_t from_device = Less(now.gets_from_device, before.gets_from_device);
  mix.vain_gets = std::min(Less(mix.gets, Less(now.gets_found, before.gets_found)), from_device);
  mix.vain_bytes = mix.vain_gets * block_bytes_;
  // The device counts what users read as one.
  const uint64_t read_bytes = Less(now.read_bytes, before.read_bytes);
  mix.scanned_bytes = mix.scans == 0 ? 0 : Less(read_bytes, from_device * block_bytes_);
  return mix;
}

MixMeter::Counts MixMeter::Now() const {
  using Line = HotCounters::Line;
  Counts counts;
  counts.gets = statistics_.hot.Sum(&Line::gets);
  counts.gets_found = statistics_.hot.Sum(&Line::gets_found);
  counts.gets_from_device = statistics_.hot.Sum(&Line::gets_from_device);
  counts.scans = statistics_.iterators.load(std::memory_order_relaxed);
  counts.read_bytes = device_.of(IoPurpose::kUserRead).read_bytes;
  return counts;
}

}  // namespace varve
