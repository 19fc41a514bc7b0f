// ReadState: everything that a read looks at, as one immutable value: the memtables and the Version that
// belong together. A read pins one and needs nothing else; a record is in exactly one of its places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/base/units.h"
#include "engine/memtable/memtable.h"
#include "engine/space/extent_allocator.h"
#include "engine/version/published.h"
#include "engine/version/version.h"

namespace varve {

// A memtable and its place in the order of memtables. What is not the memtable itself is under the mutex of
// Memtables (memtables.h), except that last_sequence no longer changes once it is listed as immutable.
struct HeldMemtable {
  HeldMemtable(size_t capacity_bytes, uint64_t seed, std::shared_ptr<HugePagePool> pool = nullptr)
      : memtable(capacity_bytes, seed, std::move(pool)) {}

  Memtable memtable;
  // Set when it is switched away. Its writers may still be inserting then: it is complete once the visible
  // sequence number has reached this.
  SequenceNumber last_sequence;
  // What its flush will write at most, and the space that is promised for it: what was acknowledged can
  // always be flushed.
  uint64_t table_bytes = 0;
  uint64_t promised_bytes = 0;
  std::vector<SpaceReservation> promises;
  bool has_deletes = false;
  uint64_t deletes = 0;
};

struct ReadState {
  std::shared_ptr<HeldMemtable> active;
  // Oldest first.
  std::vector<std::shared_ptr<HeldMemtable>> immutables;
  std::shared_ptr<const Version> version;
};

using ReadStates = Published<ReadState>;

}  // namespace varve
