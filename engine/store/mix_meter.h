// MixMeter: what users do with the store between two flushes and over many, from what is counted anyway.
#pragma once

#include <cstdint>

#include "engine/device/block_device.h"
#include "engine/memtable/memtable.h"
#include "engine/store/statistics.h"
#include "engine/tree/delete_adaptation.h"

namespace varve {

// One thread at a time.
class MixMeter {
 public:
  // Both must outlive it. `block_bytes`: what a get reads of a table.
  MixMeter(const StoreStatistics& statistics, const IoCounters& device, uint32_t block_bytes)
      : statistics_(statistics), device_(device), block_bytes_(block_bytes), since_(Now()) {}

  void OnFlushed(const Memtable::Totals& memtable);
  // Whether there were flushes enough to go by, and not only small ones.
  bool IsFull(uint64_t memtable_bytes) const;
  // What was done since the last call.
  Mix Take();

 private:
  // Of counters that only grow, at one moment.
  struct Counts {
    uint64_t gets = 0;
    uint64_t gets_found = 0;
    uint64_t gets_from_device = 0;
    uint64_t scans = 0;
    uint64_t read_bytes = 0;
  };
  Counts Now() const;

  const StoreStatistics& statistics_;
  const IoCounters& device_;
  uint32_t block_bytes_;
  // Of the flushes alone.
  Mix written_;
  Counts since_;
};

}  // namespace varve
