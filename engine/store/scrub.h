// Scrubbing: reading everything that a store in use has on its device, so that what has rotted is known while
// there is another copy of it somewhere.
//
// Read are both copies of the superblock, the manifest, and every block of every table that was live at the
// beginning and still is when its turn comes. Not the log: what it holds is in memory too, and soon in
// tables.
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "engine/store/check_store.h"

namespace varve {

// Called on the executor of the scrub.
class ScrubObserver : public CheckObserver {
 public:
  // Before each piece of at most 1 MiB is read: the place to give way to others. An error ends the scrub, and
  // is what it answers.
  virtual Task<Status> BeforeRead(uint64_t bytes) = 0;
};

struct ScrubSummary {
  uint64_t problems = 0;
  uint64_t tables = 0;
  uint64_t table_bytes = 0;
  // Of the tables at the beginning, those that merges had replaced before their turn.
  uint64_t tables_gone = 0;
};

}  // namespace varve
