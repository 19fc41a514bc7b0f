// ReadState: everything that a read looks at, as one immutable value: the memtables and the Version that
// belong together. A read pins one and needs nothing else; a record is in exactly one of its places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/units.h"
#include "engine/memtable/memtable.h"
#include "engine/version/published.h"
#include "engine/version/version.h"

namespace varve {

// A memtable and its place in the order of memtables.
struct HeldMemtable {
  HeldMemtable(size_t capacity_bytes, uint64_t seed) : memtable(capacity_bytes, seed) {}

  Memtable memtable;
  // Set when it is switched away, before it is listed as immutable. Its writers may still be inserting then:
  // it is complete once the visible sequence number has reached last_sequence.
  SequenceNumber last_sequence;
  // Once it is flushed, log replay starts here.
  Lsn log_end;
  bool has_deletes = false;
};

struct ReadState {
  std::shared_ptr<HeldMemtable> active;
  // Oldest first.
  std::vector<std::shared_ptr<HeldMemtable>> immutables;
  std::shared_ptr<const Version> version;
};

using ReadStates = Published<ReadState>;

}  // namespace varve
