#include "engine/wal/wal_writer.h"

#include <algorithm>

#include "engine/base/check.h"

namespace varve {

void WalWriter::WaitList::Append(Waiter& waiter) {
  waiter.next = nullptr;
  (last_ == nullptr ? first_ : last_->next) = &waiter;
  last_ = &waiter;
}

void WalWriter::WaitList::AppendAll(WaitList& others) {
  if (others.first_ != nullptr) {
    (last_ == nullptr ? first_ : last_->next) = others.first_;
    last_ = others.last_;
    others = WaitList();
  }
}

void WalWriter::WaitList::MoveReached(SequenceNumber reached, WaitList& to) {
  WaitList rest;
  for (Waiter* waiter = first_; waiter != nullptr;) {
    Waiter* const next = waiter->next;
    (waiter->until <= reached ? to : rest).Append(*waiter);
    waiter = next;
  }
  *this = rest;
}

void WalWriter::WaitList::WakeAll(WaitList list) {
  for (Waiter* waiter = list.first_; waiter != nullptr;) {
    Waiter* const next = waiter->next;
    waiter->event.Set();
    waiter = next;
  }
}

WalWriter::WalWriter(BlockDevice& device, WalSegmentSource& source, WalWriterOptions options)
    : device_(device),
      source_(source),
      options_(std::move(options)),
      groups_max_(kGroupsUnderWay + CeilDiv(options_.hold_bytes, kWriteOutBytes)),
      last_sequence_(options_.first_sequence.value - 1),
      durable_sequence_(options_.first_sequence.value - 1),
      sealed_lsn_(options_.first_lsn.value - 1),
      written_lsn_(sealed_lsn_),
      durable_lsn_(sealed_lsn_),
      sealed_sequence_(options_.first_sequence.value - 1),
      written_sequence_(sealed_sequence_),
      cached_lsn_(sealed_lsn_),
      wanted_sequence_(sealed_sequence_),
      closed_(options_.old_segments.begin(), options_.old_segments.end()) {
  Check(options_.first_lsn.value > 0 && options_.first_sequence.value > 0,
        "LSNs and sequence numbers begin at 1");
  Check(options_.hold_bytes <= kWalHoldBytesMax, "a log that holds back more than it has buffers for");
  Check(device.sector_bytes() <= kFrontBytes, "a sector is larger than the log's room for it");
}

WalWriter::~WalWriter() {
  Check(running_ == 0, "a log was destroyed while it was being written");
}

Task<Status> WalWriter::Start() {
  Status flushed = co_await device_.Flush(IoPurpose::kWal);
  if (!flushed.ok()) {
    co_return flushed;
  }
  Result<WalSegment> segment = co_await source_.NextSegment(options_.epoch, options_.first_lsn);
  if (!segment.ok()) {
    co_return segment.error();
  }
  const std::lock_guard lock(mutex_);
  segment_ = segment.value();
  position_ = 0;
  statistics_.segments++;
  co_return OkStatus();
}

WalAppend WalWriter::TryAppend(std::string_view records, uint32_t count) {
  Check(count > 0 && records.size() <= kWalPayloadBytesMax, "a batch that no commit group can hold");
  WalAppend append;
  const std::lock_guard lock(mutex_);
  if (!failure_.ok()) {
    append.outcome = WalAppend::Outcome::kFailed;
    return append;
  }
  const size_t sealed_before = sealed_.size();
  if (!MakeRoom(records.size())) {
    return append;
  }
  const uint64_t first = last_sequence_.load(std::memory_order_relaxed) + 1;
  if (open_->record_count == 0) {
    open_->first_sequence = SequenceNumber(first);
  }
  open_->buffer.CopyIn(kFrontBytes + WalGroupHeader::kBytes + open_->payload_bytes, records);
  open_->payload_bytes += records.size();
  open_->record_count += count;
  appended_since_sync_ += records.size();
  last_sequence_.store(first + count - 1, std::memory_order_release);
  append.outcome = WalAppend::Outcome::kAppended;
  append.first_sequence = SequenceNumber(first);
  append.write_due = sealed_.size() > sealed_before || BulkIsDue();
  return append;
}

// An open group with room for `bytes`; false when there is none until a write ends.
bool WalWriter::MakeRoom(size_t bytes) {
  if (open_ != nullptr && open_->room() < bytes) {
    Complete();
    SealAbove(HoldLimit());
  }
  if (open_ == nullptr) {
    open_ = TakeBuffer();
  }
  if (open_ == nullptr && sealed_.empty() && !held_.empty()) {
    // Groups that were completed early take buffers, and hold little.
    SealOldest();
  }
  return open_ != nullptr;
}

// In bulk only while a buffer is left for those who append meanwhile; else the open group goes on to fill.
bool WalWriter::BulkIsDue() const {
  return open_ != nullptr && open_->payload_bytes >= kWriteOutBytes && sealed_.empty() && HasSpareBuffer();
}

void WalWriter::StartWrites() {
  Actions actions;
  {
    const std::lock_guard lock(mutex_);
    Advance(actions);
  }
  Perform(actions);
}

WalWriter::Group* WalWriter::TakeBuffer() {
  if (free_groups_.empty()) {
    if (groups_.size() == groups_max_) {
      return nullptr;
    }
    groups_.push_back(std::make_unique<Group>());
    groups_.back()->buffer = AlignedBuffer(kFrontBytes + kWalGroupBytesMax);
    groups_.back()->buffer.Zero(0, kFrontBytes);
    return groups_.back().get();
  }
  Group* const group = free_groups_.back();
  free_groups_.pop_back();
  return group;
}

Task<void> WalWriter::WaitForRoom(size_t bytes) {
  Check(bytes <= kWalPayloadBytesMax, "a batch that no commit group can hold");
  Waiter waiter;
  Actions actions;
  {
    const std::lock_guard lock(mutex_);
    if (failure_.ok() && !MakeRoom(bytes)) {
      for_room_.Append(waiter);
    } else {
      waiter.event.Set();
    }
    Advance(actions);
  }
  Perform(actions);
  co_await waiter.event.Wait();
}

Task<Status> WalWriter::SyncTo(SequenceNumber sequence) {
  if (durable_sequence() >= sequence) {
    co_return OkStatus();
  }
  Check(sequence <= last_sequence(), "a sync of what was not appended");
  Waiter waiter;
  waiter.until = sequence;
  Actions actions;
  {
    const std::lock_guard lock(mutex_);
    if (!failure_.ok() || durable_sequence() >= sequence) {
      waiter.event.Set();
    } else {
      for_durability_.Append(waiter);
      appended_since_sync_ = 0;
      wanted_sequence_ = std::max(wanted_sequence_, sequence);
      Advance(actions);
    }
  }
  Perform(actions);
  co_await waiter.event.Wait();
  if (durable_sequence() >= sequence) {
    co_return OkStatus();
  }
  co_return failure();
}

void WalWriter::WriteOut() {
  Actions actions;
  {
    const std::lock_guard lock(mutex_);
    Complete();
    SealAbove(0);
    Advance(actions);
  }
  Perform(actions);
}

Task<void> WalWriter::Close() {
  Waiter waiter;
  {
    const std::lock_guard lock(mutex_);
    if (running_ > 0) {
      for_idle_.Append(waiter);
    } else {
      waiter.event.Set();
    }
  }
  co_await waiter.event.Wait();
}

Status WalWriter::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

Lsn WalWriter::next_lsn() const {
  const std::lock_guard lock(mutex_);
  return Lsn(sealed_lsn_.value + held_.size() + (open_ != nullptr && open_->record_count > 0 ? 2 : 1));
}

WalWriter::Statistics WalWriter::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

WalWriter::Releasable WalWriter::ReleaseUpTo(SequenceNumber sequence) {
  const std::lock_guard lock(mutex_);
  Releasable releasable;
  // Where all of the segment is in tables, and the next one is there, the log goes on in that.
  const bool all_in_tables = sealed_.empty() && in_flight_.empty() && sealed_sequence_ <= sequence;
  if (all_in_tables && segment_ && position_ > 0 && next_segment_ && !source_.IsScarce()) {
    closed_.push_back({*segment_, sealed_lsn_, sealed_sequence_});
    segment_ = std::exchange(next_segment_, std::nullopt);
    position_ = 0;
    statistics_.segments++;
  }
  while (!closed_.empty() && closed_.front().last_sequence <= sequence &&
         closed_.front().last_lsn <= written_lsn_) {
    releasable.segments.push_back(closed_.front().segment);
    releasable.log_start = closed_.front().last_lsn.Next();
    closed_.pop_front();
  }
  return releasable;
}

void WalWriter::DropUpTo(SequenceNumber sequence) {
  Check(sequence <= last_sequence(), "tables have what was not appended");
  Actions actions;
  {
    const std::lock_guard lock(mutex_);
    while (!held_.empty() && held_.front()->last_sequence() <= sequence) {
      held_bytes_ -= held_.front()->payload_bytes;
      Drop(*held_.front());
      free_groups_.push_back(held_.front());
      held_.pop_front();
    }
    if (held_.empty() && open_ != nullptr && open_->record_count > 0 && open_->last_sequence() <= sequence) {
      Drop(*open_);
    }
    RaiseDurable(durable_lsn_, sequence);
    for_durability_.MoveReached(durable_sequence(), actions.wake);
    actions.wake.AppendAll(for_room_);
    Advance(actions);
  }
  Perform(actions);
}

}  // namespace varve
