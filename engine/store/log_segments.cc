#include "engine/store/log_segments.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "engine/ring/executor.h"
#include "engine/store/scheduler.h"

namespace varve {

bool LogSegments::SpaceIsShort() const {
  const SpaceNumbers space = allocator_.numbers();
  return space.free_bytes < std::max(kShortSegments * segment_bytes_, space.total_bytes / kShortShare);
}

void LogSegments::Recycle(const Extent& extent) {
  if (extent.bytes() >= kWalSegmentBytesMin && SpaceIsShort()) {
    const std::lock_guard lock(mutex_);
    // Beside the one that is written and the next.
    if (spare_.size() + 2 < kSegmentsKept) {
      spare_.push_back(extent);
      return;
    }
  }
  allocator_.Release({&extent, 1});
}

void LogSegments::TakeSpares(size_t in_manifest) {
  const std::lock_guard lock(mutex_);
  while (in_manifest + spare_.size() < kSegmentsKept && SpaceIsShort()) {
    const Result<Extent> extent = AllocateExtent();
    if (!extent.ok()) {
      return;
    }
    spare_.push_back(*extent);
  }
}

std::vector<WalSegment> LogSegments::HandOverSpares(uint64_t next_number, RecoveryEpoch epoch,
                                                    Lsn epoch_first_lsn) {
  const std::lock_guard lock(mutex_);
  std::vector<WalSegment> segments;
  for (const Extent& extent : spare_) {
    segments.push_back({next_number++, extent, epoch, epoch_first_lsn});
  }
  spare_.clear();
  return segments;
}

Result<Extent> LogSegments::TakeExtent() {
  {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      const Extent extent = spare_.back();
      spare_.pop_back();
      return extent;
    }
  }
  return AllocateExtent();
}

Result<Extent> LogSegments::AllocateExtent() {
  // Where the free space is in pieces, the largest piece that still makes a segment.
  uint64_t wanted = segment_bytes_;
  while (true) {
    Result<SpaceReservation> reservation = allocator_.Reserve(wanted, SpaceClass::kInternal);
    if (reservation.ok()) {
      std::vector<Extent> pieces = allocator_.Take(*reservation, wanted);
      const auto largest = std::max_element(
          pieces.begin(), pieces.end(), [](const Extent& a, const Extent& b) { return a.units < b.units; });
      const Extent extent = *largest;
      pieces.erase(largest);
      // Never written to: free at once, so that nobody who asks for space meanwhile misses it.
      allocator_.PutBack(*reservation, pieces);
      if (extent.bytes() >= kWalSegmentBytesMin) {
        return extent;
      }
      allocator_.PutBack(*reservation, {&extent, 1});
    }
    if (wanted <= kWalSegmentBytesMin) {
      return NoSpace(fmt::format("the log needs {} bytes in one piece", kWalSegmentBytesMin));
    }
    wanted = std::max(RoundUp(wanted / 2, kExtentUnitBytes), RoundUp(kWalSegmentBytesMin, kExtentUnitBytes));
  }
}

void LogSegments::AskForSpaceOf(Scheduler* scheduler) {
  const std::lock_guard lock(mutex_);
  scheduler_ = scheduler;
}

Task<bool> LogSegments::WaitForSpace() {
  Scheduler* scheduler = nullptr;
  {
    const std::lock_guard lock(mutex_);
    scheduler = scheduler_;
  }
  if (scheduler == nullptr) {
    co_return false;
  }
  const uint64_t generation = scheduler->progress().generation();
  if (!scheduler->AskForSpace()) {
    co_return false;
  }
  co_await scheduler->progress().Beyond(generation);
  co_return true;
}

Task<Result<WalSegment>> LogSegments::NextSegment(RecoveryEpoch epoch, Lsn epoch_first_lsn) {
  co_await Executor::Current().Yield();
  Result<Extent> extent = TakeExtent();
  while (extent.Is(ErrorCode::kNoSpace)) {
    const bool may_come = co_await WaitForSpace();
    if (!may_come) {
      break;
    }
    extent = TakeExtent();
  }
  if (!extent.ok()) {
    co_return extent.error();
  }
  WalSegment segment;
  segment.number = versions_.current()->counters().next_wal_segment;
  segment.extent = *extent;
  segment.epoch = epoch;
  segment.epoch_first_lsn = epoch_first_lsn;
  VersionEdit edit;
  edit.added_wal_segments.push_back(segment);
  const Result<std::shared_ptr<const Version>> installed = co_await versions_.Install(std::move(edit));
  if (!installed.ok()) {
    // Where it is not known whether the edit is on the device, its space stays taken.
    if (installed.Is(ErrorCode::kNoSpace) || installed.Is(ErrorCode::kCorruption)) {
      Recycle(segment.extent);
    }
    co_return installed.error();
  }
  co_return segment;
}

}  // namespace varve
