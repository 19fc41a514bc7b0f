// The part of WalWriter between memory and device: which group is written when, where, how, and what that
// makes durable.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/wal/wal_writer.h"

namespace varve {

// After somebody waited for durability as much is written early as may be held back later: whoever asks again
// before that does not wait for more than without.
size_t WalWriter::HoldLimit() const {
  const size_t above = appended_since_sync_ - std::min(appended_since_sync_, options_.hold_bytes);
  return std::min(above, options_.hold_bytes);
}

// The open group takes no more records.
void WalWriter::Complete() {
  if (open_ != nullptr && open_->record_count > 0) {
    held_.push_back(open_);
    held_bytes_ += open_->payload_bytes;
    open_ = nullptr;
  }
}

void WalWriter::SealOldest() {
  Group* const group = held_.front();
  held_.pop_front();
  held_bytes_ -= group->payload_bytes;
  sealed_lsn_ = sealed_lsn_.Next();
  sealed_sequence_ = group->last_sequence();
  group->lsn = sealed_lsn_;
  sealed_.push_back(group);
}

// Until at most so much is held back.
void WalWriter::SealAbove(size_t bytes) {
  while (held_bytes_ > bytes) {
    SealOldest();
  }
}

// Tables have all of it, so the log goes on behind it.
void WalWriter::Drop(Group& group) {
  sealed_sequence_ = group.last_sequence();
  statistics_.dropped_bytes += group.payload_bytes;
  group.payload_bytes = 0;
  group.record_count = 0;
}

// Starts everything that may be started now. Idempotent: called whenever something has changed.
void WalWriter::Advance(Actions& actions) {
  if (!failure_.ok()) {
    return;
  }
  AdvanceRound();
  if (BulkIsDue()) {
    Complete();
    SealAbove(HoldLimit());
  }
  while (!sealed_.empty() && Place(*sealed_.front(), actions)) {
    sealed_.pop_front();
  }
  if (round_until_ && written_lsn_ >= *round_until_ && durable_lsn_ < *round_until_ && !flush_running_) {
    flush_running_ = true;
    running_++;
    actions.flush = true;
    actions.flush_lsn = written_lsn_;
    actions.flush_sequence = written_sequence_;
  }
}

// A round makes durable what is wanted when it begins; what is wanted later waits for the next, and shares
// it.
void WalWriter::AdvanceRound() {
  if (round_until_ && durable_lsn_ >= *round_until_) {
    round_until_.reset();
  }
  if (round_until_ || wanted_sequence_ <= durable_sequence()) {
    return;
  }
  if (wanted_sequence_ > sealed_sequence_) {
    Complete();
    SealAbove(0);
  }
  round_until_ = wanted_sequence_ <= written_sequence_ ? written_lsn_ : sealed_lsn_;
}

// Gives the group its place on the device; false when no segment is ready to take it.
bool WalWriter::Place(Group& group, Actions& actions) {
  const uint32_t sector_bytes = device_.sector_bytes();
  const uint64_t bytes = RoundUp(WalGroupHeader::kBytes + group.payload_bytes, sector_bytes);
  if (!segment_ || position_ + bytes > segment_->extent.bytes()) {
    if (!next_segment_) {
      segment_is_needed_ = true;
      NeedSegment(actions);
      return false;
    }
    if (segment_) {
      closed_.push_back(
          {*segment_, Lsn(group.lsn.value - 1), SequenceNumber(group.first_sequence.value - 1)});
    }
    segment_ = std::exchange(next_segment_, std::nullopt);
    segment_is_needed_ = false;
    position_ = 0;
    statistics_.segments++;
  }
  group.begins_segment = position_ == 0;
  if (group.begins_segment) {
    position_ = sector_bytes;
  }
  group.segment = *segment_;
  group.position = position_;
  position_ += bytes;
  if (!next_segment_ && (position_ > segment_->extent.bytes() / 2 || source_.IsScarce())) {
    NeedSegment(actions);
  }

  group.flushed_lsn = durable_lsn_;
  // Alone durable it makes the round whole at once. After groups that are not, a flush must follow anyway.
  const bool ends_round = round_until_ && group.lsn == *round_until_;
  group.persistence =
      ends_round && cached_lsn_ <= durable_lsn_ ? Persistence::kDurable : Persistence::kCached;
  if (group.persistence == Persistence::kCached) {
    cached_lsn_ = group.lsn;
  } else {
    statistics_.durable_writes++;
  }
  in_flight_.push_back({group.lsn, group.last_sequence(), group.persistence, false});
  running_++;
  actions.writes[actions.writes_count++] = &group;
  return true;
}

void WalWriter::NeedSegment(Actions& actions) {
  if (!fetching_) {
    fetching_ = true;
    running_++;
    actions.fetch_segment = true;
  }
}

// Writes end in any order; what is behind a gap does not count before the gap is closed.
void WalWriter::MarkWritten(Lsn lsn) {
  in_flight_[lsn.value - in_flight_.front().lsn.value].written = true;
  while (!in_flight_.empty() && in_flight_.front().written) {
    const InFlight& first = in_flight_.front();
    written_lsn_ = first.lsn;
    written_sequence_ = first.last_sequence;
    if (first.persistence == Persistence::kDurable) {
      // It was chosen only behind groups that are durable.
      RaiseDurable(first.lsn, first.last_sequence);
    }
    in_flight_.pop_front();
  }
}

void WalWriter::RaiseDurable(Lsn lsn, SequenceNumber sequence) {
  durable_lsn_ = std::max(durable_lsn_, lsn);
  durable_sequence_.store(std::max(durable_sequence(), sequence).value, std::memory_order_release);
}

void WalWriter::Fail(const Error& error, std::string_view what, Actions& actions) {
  if (failure_.ok()) {
    failure_ = Error(error.code(), fmt::format("{}: {}", what, error.message()));
  }
  actions.wake.AppendAll(for_durability_);
  actions.wake.AppendAll(for_room_);
}

// The last that each of this log's coroutines does under the mutex.
void WalWriter::EndTask(Actions& actions) {
  Advance(actions);
  for_durability_.MoveReached(durable_sequence(), actions.wake);
  running_--;
  if (running_ == 0) {
    actions.wake.AppendAll(for_idle_);
  }
}

void WalWriter::Perform(Actions& actions) {
  const WaitList wake = actions.wake;
  // Whoever is woken last may destroy this; as long as something was started, nobody may.
  if (actions.fetch_segment) {
    Spawn(FetchSegment());
  }
  for (size_t i = 0; i < actions.writes_count; i++) {
    Spawn(WriteGroup(actions.writes[i]));
  }
  if (actions.flush) {
    Spawn(FlushDevice(actions.flush_lsn, actions.flush_sequence));
  }
  WaitList::WakeAll(wake);
}

// Completes the group's bytes: headers in front, zeroes behind.
std::span<const std::byte> WalWriter::Prepare(Group& group) const {
  const uint32_t sector_bytes = device_.sector_bytes();
  const uint64_t seed = WalSegmentSeed(options_.store_uuid, group.segment.number);
  char* const at = group.buffer.chars() + kFrontBytes;
  WalGroupHeader header;
  header.lsn = group.lsn;
  header.epoch = options_.epoch;
  header.flushed_lsn = group.flushed_lsn;
  header.first_sequence = group.first_sequence;
  header.record_count = group.record_count;
  header.payload_bytes = static_cast<uint32_t>(group.payload_bytes);
  header.payload_checksum =
      WalPayloadChecksum({at + WalGroupHeader::kBytes, group.payload_bytes}, seed, group.position);
  header.Encode(at, seed, group.position);

  const size_t used = WalGroupHeader::kBytes + group.payload_bytes;
  const size_t bytes = header.bytes_on_device(sector_bytes);
  group.buffer.Zero(kFrontBytes + used, bytes - used);
  if (!group.begins_segment) {
    return group.buffer.span().subspan(kFrontBytes, bytes);
  }
  group.buffer.Zero(0, kFrontBytes);
  WalSegmentHeader::Of(group.segment, options_.store_uuid, group.lsn, sector_bytes).Encode(at - sector_bytes);
  return group.buffer.span().subspan(kFrontBytes - sector_bytes, sector_bytes + bytes);
}

Task<void> WalWriter::WriteGroup(Group* group) {
  const std::span<const std::byte> bytes = Prepare(*group);
  const DeviceOffset offset = group->segment.extent.offset() + (group->begins_segment ? 0 : group->position);
  Status status = co_await device_.Write(offset, bytes, IoPurpose::kWal, group->persistence);
  Actions actions;
  {
    const std::lock_guard lock(mutex_);
    if (status.ok()) {
      MarkWritten(group->lsn);
      statistics_.groups++;
      statistics_.records += group->record_count;
      statistics_.payload_bytes += group->payload_bytes;
      statistics_.device_bytes += bytes.size();
    } else {
      Fail(status.error(), "the log could not be written", actions);
    }
    group->payload_bytes = 0;
    group->record_count = 0;
    free_groups_.push_back(group);
    actions.wake.AppendAll(for_room_);
    EndTask(actions);
  }
  Perform(actions);
}

Task<void> WalWriter::FlushDevice(Lsn lsn, SequenceNumber sequence) {
  Status status = co_await device_.Flush(IoPurpose::kWal);
  Actions actions;
  {
    const std::lock_guard lock(mutex_);
    flush_running_ = false;
    statistics_.flushes++;
    if (status.ok()) {
      RaiseDurable(lsn, sequence);
    } else {
      Fail(status.error(), "the log could not be flushed", actions);
    }
    EndTask(actions);
  }
  Perform(actions);
}

Task<void> WalWriter::FetchSegment() {
  Result<WalSegment> segment = co_await source_.NextSegment(options_.epoch, options_.first_lsn);
  Check(!segment.ok() || segment.value().extent.bytes() >= kWalSegmentBytesMin,
        "a segment is too small for the log");
  Actions actions;
  {
    const std::lock_guard lock(mutex_);
    fetching_ = false;
    if (segment.ok()) {
      next_segment_ = segment.value();
    } else if (segment_is_needed_ || !segment.Is(ErrorCode::kNoSpace)) {
      Fail(segment.error(), "the log could not get a new segment", actions);
    }
    EndTask(actions);
  }
  Perform(actions);
}

}  // namespace varve
