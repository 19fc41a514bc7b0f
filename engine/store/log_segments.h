// LogSegments: where the log gets its segments. A segment must lie in one piece, and a full, fragmented
// device may have none left: so once space is short, segments that the log is done with are kept for its next
// ones, and a clean close leaves some in the manifest.
#pragma once

#include <mutex>
#include <vector>

#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "engine/space/extent_allocator.h"
#include "engine/version/version_set.h"
#include "engine/wal/wal_writer.h"

namespace varve {

class Scheduler;

class LogSegments final : public WalSegmentSource {
 public:
  // The log writes one while the next is ready, and a third waits for the flush of what it holds.
  static constexpr size_t kSegmentsKept = 3;
  // Space is short when less than so many segments, or than this share of the device, is free.
  static constexpr uint64_t kShortSegments = 64;
  static constexpr uint64_t kShortShare = 8;

  LogSegments(ExtentAllocator& allocator, VersionSet& versions, uint64_t segment_bytes)
      : allocator_(allocator), versions_(versions), segment_bytes_(segment_bytes) {}

  // Any thread. The extent of a segment that no durable edit names any more.
  void Recycle(const Extent& extent);
  // Once, before the log starts and beside the `in_manifest` segments that hold something: takes what is
  // missing to kSegmentsKept where space is short, and the device has such pieces.
  void TakeSpares(size_t in_manifest);
  // For a clean close: the spare extents leave the pool, as segments for the manifest with numbers from
  // `next_number`.
  std::vector<WalSegment> HandOverSpares(uint64_t next_number, RecoveryEpoch epoch, Lsn epoch_first_lsn);

  // Installs an edit, so it must not run inside a call of somebody who holds a lock: it gives way first.
  // Waits for space where somebody can be asked for it.
  Task<Result<WalSegment>> NextSegment(RecoveryEpoch epoch, Lsn epoch_first_lsn) override;
  bool IsScarce() const override { return SpaceIsShort(); }
  // Whom to ask; nullptr: nobody, before it works and once it has stopped.
  void AskForSpaceOf(Scheduler* scheduler);

 private:
  bool SpaceIsShort() const;
  // False: there is nobody to ask, or nothing that could still make room.
  Task<bool> WaitForSpace();
  Result<Extent> TakeExtent();
  Result<Extent> AllocateExtent();

  ExtentAllocator& allocator_;
  VersionSet& versions_;
  const uint64_t segment_bytes_;
  std::mutex mutex_;  // everything below
  std::vector<Extent> spare_;
  Scheduler* scheduler_ = nullptr;
};

}  // namespace varve
