// WalWriter: the end of the log. Batches from all executors collect in one open group in memory; the order in
// which they are appended is the order of sequence numbers.
//
// Who writes: whoever asks for durability while no such round is running, or appends what makes the open
// group large; the write runs on that caller's executor as a coroutine of its own. What arrives meanwhile
// joins the next group, which the executor that sees the write end starts at once if somebody waits for it.
// How it becomes durable: a group that follows only durable groups is written with Persistence::kDurable, one
// operation. Where earlier groups were written without it (large ones, in bulk), the round ends with one
// device flush instead.
// What need not be written: a log can hold groups back in memory while nobody asks for durability
// (WalWriterOptions::hold_bytes). Once a flush has put all that a held group has into tables, the group is
// dropped: it never gets an LSN. Groups leave in order, so what a log has on the device is still a prefix but
// for what tables hold.
//
// Any failed write, flush or segment allocation is for ever: every later call and every waiter gets that
// error, and nothing more reaches the device.
//
// Threads: all calls from any executor, at once. One mutex guards the state; it is held to copy a batch,
// never across a wait, and no call leaves this room while it is held.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/units.h"
#include "engine/device/aligned_buffer.h"
#include "engine/device/block_device.h"
#include "engine/ring/async_event.h"
#include "engine/ring/task.h"
#include "engine/wal/wal_format.h"
#include "engine/wal/wal_segment.h"

namespace varve {

// Where segments come from.
class WalSegmentSource {
 public:
  virtual ~WalSegmentSource() = default;
  // A segment of at least kWalSegmentBytesMin, a multiple of the sector long, with the number after the last
  // one given (larger than any that the store ever had) and the epoch fields as asked. Its allocation is
  // durable in the manifest when this ends. Called for one segment at a time, ahead of need, on an executor
  // that appends, syncs or runs a write of the log: must not wait for the log.
  // kNoSpace is no failure of the log before it needs the segment: it asks again.
  virtual Task<Result<WalSegment>> NextSegment(RecoveryEpoch epoch, Lsn epoch_first_lsn) = 0;
  // Whether the next segment should be had as soon as the last one is begun.
  virtual bool IsScarce() const = 0;
};

// A segment that takes no more groups: nothing in it lies above these two.
struct WalClosedSegment {
  WalSegment segment;
  Lsn last_lsn;
  SequenceNumber last_sequence;
};

struct WalWriterOptions {
  Uuid store_uuid{};
  RecoveryEpoch epoch;            // newer than any that the log holds
  Lsn first_lsn;                  // one after the end of the log: WalEnd::next_lsn
  SequenceNumber first_sequence;  // larger than any in log and tables
  // What recovery left behind: WalEnd::segments.
  std::vector<WalClosedSegment> old_segments;
  // So many bytes may be held back; at most kWalHoldBytesMax. 0: none are.
  size_t hold_bytes = 0;
};

// Holding back pays where a flush overtakes it; and what is held is in memory twice, and is all written at
// once when somebody asks for durability.
inline constexpr size_t kWalHoldBytesMax = 8 * kMiB;

struct WalAppend {
  enum class Outcome : uint8_t {
    kAppended,
    kFull,    // nothing was done: co_await WaitForRoom(), then try again
    kFailed,  // the log takes nothing more: failure() says why
  };
  Outcome outcome = Outcome::kFull;
  // The next two only when appended. Of the first record:
  SequenceNumber first_sequence;
  // So much has come together that the caller should call StartWrites(), once it holds no lock.
  bool write_due = false;
};

class WalWriter {
 public:
  // `device` and `source` must outlive it.
  WalWriter(BlockDevice& device, WalSegmentSource& source, WalWriterOptions options);
  WalWriter(const WalWriter&) = delete;
  WalWriter& operator=(const WalWriter&) = delete;
  // Precondition: Close has ended, or nothing was ever started.
  ~WalWriter();

  // Once, before anything else: makes durable what recovery has written again (WalReader::WriteAgain), then
  // gets the first segment, whose epoch says that everything before it is durable.
  Task<Status> Start();

  // Copies the encoded records of one batch (engine/base/batch_records.h; `count` of them, at least one, at
  // most kWalPayloadBytesMax bytes) to the end of the log in memory. Never waits, starts nothing: callers
  // that must order batches in other places too may hold a lock.
  WalAppend TryAppend(std::string_view records, uint32_t count);
  // Starts the writes of groups that are large enough.
  void StartWrites();
  // Until a batch of `bytes` has a chance again, or the log has failed. Others may be quicker: try in a loop.
  Task<void> WaitForRoom(size_t bytes);

  // Makes everything up to `sequence`, which was appended, durable.
  Task<Status> SyncTo(SequenceNumber sequence);
  // Everything that was appended before the call.
  Task<Status> Sync() { return SyncTo(last_sequence()); }
  // Starts writing what is in memory, if anything, without making it durable: after a kill of the process it
  // is safe some time later, after a crash of the machine it is not.
  void WriteOut();

  // Waits for what is in flight; writes nothing more: Sync first. Nothing else may be called afterwards or
  // meanwhile.
  Task<void> Close();

  // Lock-free.
  SequenceNumber last_sequence() const {
    return SequenceNumber(last_sequence_.load(std::memory_order_acquire));
  }
  SequenceNumber durable_sequence() const {
    return SequenceNumber(durable_sequence_.load(std::memory_order_acquire));
  }
  // Of the next group: where the log starts once everything in it is in tables.
  Lsn next_lsn() const;
  // Ok until the log has failed.
  Status failure() const;

  // The segments, oldest first, in which nothing above `sequence` lies and to which nothing is written any
  // more, and where the log then starts. Forgets them: the caller has everything up to `sequence` durable in
  // tables, and takes them out of the manifest.
  struct Releasable {
    std::vector<WalSegment> segments;
    std::optional<Lsn> log_start;  // the first LSN that stays; only when there are any
  };
  Releasable ReleaseUpTo(SequenceNumber sequence);

  // Everything up to `sequence`, which was appended, is durable in tables: what is held back of it is
  // dropped, and whoever waits for its durability has it. Threads: on an executor; wakes waiters.
  void DropUpTo(SequenceNumber sequence);

  struct Statistics {
    uint64_t groups = 0;
    uint64_t records = 0;
    uint64_t payload_bytes = 0;
    uint64_t device_bytes = 0;
    uint64_t durable_writes = 0;
    uint64_t flushes = 0;
    uint64_t segments = 0;
    // Of records that were held back until tables had them.
    uint64_t dropped_bytes = 0;
  };
  Statistics statistics() const;

 private:
  // The state of a batch's journey: open_ -> held_ -> sealed_ -> written (in_flight_) -> its buffer is free
  // again; or from the first two, once tables have it, to the last.
  struct Group {
    AlignedBuffer buffer;
    size_t payload_bytes = 0;
    uint32_t record_count = 0;
    SequenceNumber first_sequence;
    Lsn lsn;
    // Decided when the write is started.
    Lsn flushed_lsn;
    WalSegment segment;
    uint64_t position = 0;
    bool begins_segment = false;
    Persistence persistence = Persistence::kCached;

    size_t room() const { return kWalPayloadBytesMax - payload_bytes; }
    SequenceNumber last_sequence() const { return SequenceNumber(first_sequence.value + record_count - 1); }
  };
  // A group whose write was started, until all before it are written too.
  struct InFlight {
    Lsn lsn;
    SequenceNumber last_sequence;
    Persistence persistence = Persistence::kCached;
    bool written = false;
  };
  // Lies in the frame of who waits.
  struct Waiter {
    SequenceNumber until;
    AsyncEvent event;
    Waiter* next = nullptr;
  };
  class WaitList {
   public:
    void Append(Waiter& waiter);
    void AppendAll(WaitList& others);
    // Moves those that wait for at most `reached` to `to`, in order.
    void MoveReached(SequenceNumber reached, WaitList& to);
    // The waiters, and with them this log, may be gone when it returns.
    static void WakeAll(WaitList list);

   private:
    Waiter* first_ = nullptr;
    Waiter* last_ = nullptr;
  };
  // One group open, the others sealed or under way: 8 MiB of address space, of which only what was used is
  // resident. A log that holds groups back has as many more as it may hold.
  static constexpr size_t kGroupsUnderWay = 4;
  // Room in front of a group for the segment header that may be written with it.
  static constexpr size_t kFrontBytes = 4096;
  // When nobody waits, write as soon as this much has come together, so that little is left for the moment
  // when somebody does. Large enough for a device to be at its full rate.
  static constexpr size_t kWriteOutBytes = 512 * kKiB;
  static constexpr size_t kGroupsMax = kGroupsUnderWay + kWalHoldBytesMax / kWriteOutBytes;

  // What was decided under the mutex and is done after it is given back.
  struct Actions {
    std::array<Group*, kGroupsMax> writes{};
    size_t writes_count = 0;
    bool fetch_segment = false;
    bool flush = false;
    // What the flush makes durable.
    Lsn flush_lsn;
    SequenceNumber flush_sequence;
    WaitList wake;
  };

  // All of these need mutex_.
  bool MakeRoom(size_t bytes);
  bool BulkIsDue() const;
  Group* TakeBuffer();
  bool HasSpareBuffer() const { return !free_groups_.empty() || groups_.size() < groups_max_; }
  size_t HoldLimit() const;
  void Complete();
  void SealOldest();
  void SealAbove(size_t bytes);
  void Drop(Group& group);
  void Advance(Actions& actions);
  void AdvanceRound();
  bool Place(Group& group, Actions& actions);
  void NeedSegment(Actions& actions);
  void MarkWritten(Lsn lsn);
  void RaiseDurable(Lsn lsn, SequenceNumber sequence);
  void Fail(const Error& error, std::string_view what, Actions& actions);
  void EndTask(Actions& actions);

  // Without it. Last of all it wakes waiters, who may destroy this.
  void Perform(Actions& actions);
  std::span<const std::byte> Prepare(Group& group) const;
  Task<void> WriteGroup(Group* group);
  Task<void> FlushDevice(Lsn lsn, SequenceNumber sequence);
  Task<void> FetchSegment();

  BlockDevice& device_;
  WalSegmentSource& source_;
  const WalWriterOptions options_;
  const size_t groups_max_;

  std::atomic<uint64_t> last_sequence_;
  std::atomic<uint64_t> durable_sequence_;

  // Guards all below.
  mutable std::mutex mutex_;
  Status failure_;
  // Coroutines of this log that have not ended.
  size_t running_ = 0;

  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<Group*> free_groups_;
  Group* open_ = nullptr;
  // Complete, without an LSN, oldest first.
  std::deque<Group*> held_;
  size_t held_bytes_ = 0;
  // Since somebody had to wait for durability.
  size_t appended_since_sync_ = 0;
  std::deque<Group*> sealed_;
  std::deque<InFlight> in_flight_;
  bool flush_running_ = false;

  // Everything up to here is sealed, written, durable; each lags the one before it. Of the sequence numbers,
  // what tables have counts as sealed, and as durable.
  Lsn sealed_lsn_, written_lsn_, durable_lsn_;
  SequenceNumber sealed_sequence_, written_sequence_;
  // The last group that was not written with kDurable.
  Lsn cached_lsn_;
  // What somebody waits for, and the group with which the round that is running ends.
  SequenceNumber wanted_sequence_;
  std::optional<Lsn> round_until_;

  std::optional<WalSegment> segment_;
  uint64_t position_ = 0;
  std::optional<WalSegment> next_segment_;
  bool fetching_ = false;
  // A group waits for it.
  bool segment_is_needed_ = false;
  std::deque<WalClosedSegment> closed_;

  WaitList for_durability_;
  WaitList for_room_;
  WaitList for_idle_;
  Statistics statistics_;
};

}  // namespace varve
