// ListingAhead: the next entries of an open directory, walked over in the background while whoever asked for
// the last ones takes them. So a listing of many names keeps two CPUs busy, and its next request finds its
// answer, or most of it, made.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/base/units.h"
#include "engine/ring/async_event.h"
#include "engine/ring/executor.h"
#include "engine/ring/task.h"
#include "fs/ops/filesystem.h"
#include "fs/ops/packed_entries.h"

namespace varve {

// Of one DirectoryStream. Two may use that: the stream's one request, and one walk in the background. Whose
// turn it is, this says; what happens in one turn is visible to the next.
class ListingAhead {
 public:
  // As much as the C library asks for at once (st_blksize of a directory), counted as an answer takes it.
  static constexpr size_t kBytesMax = 128 * kKiB;
  // A request waits no longer than that for a walk that has begun, and one slice of it.
  static constexpr uint64_t kPatienceNanos = 1'000'000;

  // The request. Claim comes first; after Offer nothing of this is the request's any more. Offsets are those
  // of FileSystem::ReadDirectory.

  // A walk that has not begun will not, one that has is waited for.
  Task<void> Claim();
  // Whether entries are held that go on at `offset`, of this version of the directory (InodeLocks).
  bool Holds(uint64_t offset, uint64_t version) const {
    return !empty() && offset == offset_ && version == version_;
  }
  // Passes on as many entries as the sink takes. Precondition: Holds.
  void Take(DirectorySink& sink);
  // What is left is of no use. Of a stream to which that happened the rest is better walked over when it is
  // asked for: who asks wants attributes, or changes the directory as it goes on.
  void Discard();
  // Whether a walk from offset() on is worth while.
  bool is_wanted() const { return empty() && !at_end_ && !was_in_vain_; }
  // Whether a walk that was missed has left its request to fill the rest of its answer, from offset() on: an
  // answer holds as much as was asked for, however slow the background is.
  bool is_short() const { return empty() && !at_end_ && was_missed_; }
  // Gives the next turn to a walk from `offset` on. True: the caller starts it on the background executor;
  // false: one that was started earlier, and has not begun, is it.
  [[nodiscard]] Task<bool> Offer(uint64_t offset);
  // In front of the first entry that is held, or where the next walk begins.
  uint64_t offset() const { return offset_; }

  // The walk, on the background executor.

  // False: it was withdrawn, and is over. Otherwise End ends it.
  bool Begin();
  // False: there is no room for the entry.
  bool Keep(const DirectoryEntry& entry);
  // Whether a request has waited long enough. Asked between two slices.
  bool IsMissed(uint64_t now_nanos);
  // The entries are of that version; `at_end`: there are no more.
  void End(uint64_t version, bool at_end);

 private:
  // kWithdrawn: a walk was started, and is not to begin.
  enum class Turn : uint8_t { kOfRequest, kOffered, kWithdrawn, kOfWalk };

  bool empty() const { return taken_ == entries_.end(); }

  std::atomic<Turn> turn_{Turn::kOfRequest};
  AsyncEvent walk_over_{true};
  // A request waits for the walk.
  std::atomic<bool> awaited_{false};

  // The rest belongs to whoever has the turn.
  PackedEntries entries_;
  PackedEntries::Place taken_;  // in front of the first that was not
  size_t answer_bytes_ = 0;     // what the entries take of an answer
  uint64_t offset_ = 0;
  uint64_t version_ = 0;
  uint64_t awaited_since_ = 0;  // as the walk saw it; 0: nobody waits
  bool was_missed_ = false;     // a request had waited long enough
  bool at_end_ = false;
  bool was_in_vain_ = false;
};

}  // namespace varve
