// Store: the engine's contract. Ordered keys and values on a block device, written in atomic batches, read at
// snapshots. Everything above the engine (the filesystem, the tools) sees only this, engine/ring and
// engine/base.
//
// Threads: every call may be made by code that an executor runs, on any of them, concurrently, unless it says
// otherwise. What a write begins (the log's) may end later on the same executor: whoever writes runs until
// the store is closed. Calls that return a Task may wait for the device; the Try… calls never wait, and are
// the hit path. Limits: kKeyBytesMax, kValueBytesMax, kBatchBytesMax; beyond them kInvalidArgument. Errors of
// reads: kCorruption, kDeviceError. Errors of writes: kNoSpace (the users' share of the device is full: only
// batches that free space are taken), kReadOnly (opened so, or after a failed WAL or manifest write),
// kInvalidArgument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/logger.h"
#include "engine/base/outline_options.h"
#include "engine/base/pinned_value.h"
#include "engine/base/read_ahead_marks.h"
#include "engine/base/result.h"
#include "engine/base/size_limits.h"
#include "engine/base/step.h"
#include "engine/base/units.h"
#include "engine/ring/executor.h"
#include "engine/ring/task.h"

namespace varve {

class BlockDevice;
class InstallObserver;  // engine/version/version_set.h
class ScrubObserver;    // engine/store/scrub.h
struct ScrubSummary;

// An ordered list of puts and deletes, of keys and of ranges of keys, that take effect together or not at
// all. Not thread-safe.
class WriteBatch {
 public:
  void Put(std::string_view key, std::string_view value);
  void Delete(std::string_view key);
  // Deletes every key in [begin, end), at the cost of one record however many there are. Worth it from some
  // dozens on: what hides a range is looked at by every read until the keys are gone from the device. An
  // empty range is none. At most kBatchRangeDeletesMax.
  void DeleteRange(std::string_view begin, std::string_view end);
  void Clear();

  uint32_t count() const { return count_; }
  // The size of all keys and values as encoded: what it costs in the log. Limited by kBatchBytesMax.
  size_t bytes() const { return records_.size(); }
  bool empty() const { return count_ == 0; }
  // Of the records, those that delete one key.
  uint32_t deletes() const { return deletes_; }
  uint32_t range_deletes() const { return range_deletes_; }
  // True when every record is a delete, or the caller says that the batch frees more than it writes: such
  // batches are taken while the users' share of the device is full.
  void MarkFreesSpace() { marked_frees_space_ = true; }
  bool frees_space() const { return marked_frees_space_ || (only_deletes_ && count_ != 0); }
  // False once a key or value, or the whole, is larger than the store takes.
  bool within_limits() const {
    return within_limits_ && records_.size() <= kBatchBytesMax && range_deletes_ <= kBatchRangeDeletesMax;
  }

  // The encoded records: for each, a kind byte, the length-prefixed key and, for a put, the length-prefixed
  // value, for a range its end (engine/base/batch_records.h).
  std::string_view records() const { return records_; }

 private:
  std::string records_;
  uint32_t count_ = 0;
  uint32_t deletes_ = 0;
  uint32_t range_deletes_ = 0;
  bool only_deletes_ = true;
  bool marked_frees_space_ = false;
  bool within_limits_ = true;
};

enum class Durability : uint8_t {
  kInterval,  // durable within the commit interval
  kDurable,   // durable, with everything before it, when the call ends
};

// The state of the store at one moment. Released by destruction, from any thread, before the store is closed.
class Snapshot {
 public:
  virtual ~Snapshot() = default;
  virtual SequenceNumber sequence() const = 0;
};

struct ReadOptions {
  // nullptr: the newest state.
  const Snapshot* snapshot = nullptr;
  // Bulk readers (scrub, backup) leave the block cache as it is.
  bool fill_cache = true;
  // Whoever asks keeps what he gets, as the kernel's page cache does above a mount: blocks that hold nothing
  // else do not enter the block cache, unless gets in the order of keys read them ahead. What finds them
  // does: indexes and filters.
  bool keeps_value = false;
  // Iterators only: walks on behind blocks that fail their checks. What such a block held is missing, and an
  // older version of it, or something that was deleted, may appear instead: good enough to look for names,
  // never for data.
  bool pass_over_damage = false;
  // Iterators only: the walk goes on where another one ended, and is long. Reads ahead from the start, of
  // each part of the store as much as it has of the whole.
  bool goes_on = false;
  // Iterators only: the walk is likely to end within a few hundred KiB. Its reads grow as those of others do,
  // but nothing is begun ahead of them.
  bool is_short = false;
  // Iterators only: the walk will go forward over all of [lower, upper). Reads are large from the start, and
  // end with the range.
  bool whole_range = false;
  // Iterators only: values may be shown cut short, to the length that StoreOptions::outlines says. Where
  // indexes hold them so, nothing else is read.
  bool outlines = false;
  // With whole_range, where values are kept: so many bytes from `lower` on are likely to be asked for, by
  // this walk and others that follow it. A walk that follows one reads ahead of the next.
  uint64_t stretch_bytes = 0;
  // Iterators only: one for all iterators of such a walk. What is read ahead of one of them is under way for
  // the next. Must outlive them; nullptr: each begins anew.
  ReadAheadMarks* marks = nullptr;
};

// Walks keys in order at one snapshot, forward and backward. Made by one executor and used by one coroutine
// at a time. Each move either completes at once or answers kNeedsIo; then `co_await Load()` completes it.
// Between a kNeedsIo and the end of Load() nothing else may be called. key() and value() are valid until the
// next move. After an error Valid() is false and status() says why.
class StoreIterator {
 public:
  virtual ~StoreIterator() = default;

  // To the first key at or after `key`.
  [[nodiscard]] virtual Step Seek(std::string_view key) = 0;
  // To the last key at or before `key`.
  [[nodiscard]] virtual Step SeekForPrev(std::string_view key) = 0;
  // Precondition of the next two: Valid().
  [[nodiscard]] virtual Step Next() = 0;
  [[nodiscard]] virtual Step Prev() = 0;
  virtual Task<void> Load() = 0;

  virtual bool Valid() const = 0;
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
  virtual Status status() const = 0;
};

// What each technique of docs/design/techniques.md is called in options and statistics. Those whose rooms do
// not exist yet change nothing. The last two are for comparisons.
struct Techniques {
  bool block_merge = true;
  bool append_merge = true;
  bool sst_log = false;
  bool compaction_buffer = false;
  bool delete_aware = false;
  bool monkey = false;
  // What merges write anew of cached blocks enters the cache; so it does with block merge, append merge and
  // the compaction buffer.
  bool carry = false;
  // The same of every new block that holds a record of a cached one, as warm-up schemes do that LSbM compares
  // with (section 6.3.1).
  bool warm_up = false;

  static constexpr Techniques None() { return {.block_merge = false, .append_merge = false}; }
};

struct StoreOptions {
  bool read_only = false;
  // A log that is damaged ends before the damage, instead of refusing to be opened: the store is as it was
  // then, and what was written later is lost. For repair.
  bool cut_damaged_log = false;
  size_t memtable_bytes = 64 * kMiB;
  size_t block_cache_bytes = 256 * kMiB;
  uint64_t commit_interval_nanos = 1'000'000'000;
  uint64_t table_bytes = 64 * kMiB;
  uint32_t level_ratio = 10;
  uint64_t level1_bytes = 256 * kMiB;  // times level_ratio with techniques.append_merge
  // With techniques.sst_log: what SST-Logs may hold, of the bytes in Trees (L2SM, section III-B).
  double sst_log_share = 0.1;
  // With techniques.compaction_buffer: what buffers may hold, of the bytes of all tables; how much of a part
  // of a table has to be cached for them to keep it; and how often what is not hot any more leaves them
  // (LSbM, section 4.2).
  double buffer_share = 0.01;
  double buffer_hot_share = 0.8;
  uint64_t buffer_trim_interval_nanos = 30'000'000'000;
  // What the range tombstones of all tables may take in memory. A batch that deletes ranges waits some
  // seconds for them to become fewer, and is refused then (kBusy): a snapshot holds up what hides so much.
  size_t range_tombstones_bytes = 512 * kMiB;
  // Tables of level 0 that are merged; 0: as many as make up level 1, within bounds.
  uint32_t level0_tables_trigger = 0;
  Techniques techniques;
  // What tables that are written from now on hold for walks with ReadOptions::outlines.
  OutlineOptions outlines = {};
};

struct StoreEnvironment {
  BlockDevice& device;
  const Clock& clock;
  Logger& logger;
  // Where flush, compaction and reclaim run, in the order of preference; at least one. They must be running
  // their loops before Open is called and until Close has ended. In a tool or a simulation it is the caller's
  // own.
  std::vector<Executor*> background;
  uint64_t seed = 0;
  // Hears of every Version as it takes effect, after the store's own parts: checks of invariants. May be
  // nullptr.
  InstallObserver* installs = nullptr;
};

struct SpaceUsage {
  uint64_t device_bytes = 0;
  // What users may fill: the device without layout and reserve.
  uint64_t usable_bytes = 0;
  // Of usable_bytes, what live tables, log and manifest hold.
  uint64_t used_bytes = 0;
  uint64_t free_bytes() const { return usable_bytes > used_bytes ? usable_bytes - used_bytes : 0; }
};

class Store {
 public:
  virtual ~Store() = default;

  // The newest visible version of `key`. An engaged result is the answer (nullopt inside: no such key); a
  // disengaged one says that the device must be asked: call Get.
  using Lookup = Result<std::optional<PinnedValue>>;
  virtual std::optional<Lookup> TryGet(std::string_view key, const ReadOptions& options) = 0;
  // A search that has to go on with reads of the device. It answers as of its beginning, and keeps what it
  // looks at as a snapshot does: memory and space on the device. Finished or not, it must be gone before the
  // store is closed.
  class UnfinishedGet {
   public:
    virtual ~UnfinishedGet() = default;
    // Once, on any executor. The object must outlive the Task.
    virtual Task<Lookup> Finish() = 0;
  };
  // As TryGet; where that says that the device must be asked, `rest` becomes the search as it stands: to
  // finish it costs less than Get, which begins anew. A snapshot in `options` may be let go then.
  virtual std::optional<Lookup> BeginGet(std::string_view key, const ReadOptions& options,
                                         std::unique_ptr<UnfinishedGet>& rest) = 0;
  // From memory or the device. `key` must outlive the Task.
  virtual Task<Lookup> Get(std::string_view key, ReadOptions options) = 0;
  // An iterator without a snapshot in `options` takes one of its own. [lower, upper) bounds it; an empty
  // `upper` is no bound. The iterator must be destroyed before the store is closed.
  virtual std::unique_ptr<StoreIterator> NewIterator(std::string_view lower, std::string_view upper,
                                                     ReadOptions options) = 0;
  virtual std::shared_ptr<const Snapshot> GetSnapshot() = 0;
  // Of the newest write that readers see: as long as it stays the same, so do the answers.
  virtual SequenceNumber visible_sequence() const = 0;

  // Applies the batch: readable when the call ends; what survives a crash is always a prefix of the batches
  // in the order of their application. TryWrite answers nullopt, having done nothing, when it would have to
  // wait (for durability, memory or back-pressure): call Write. Errors: kInvalidArgument (beyond the limits),
  // kNoSpace, kBusy (StoreOptions::range_tombstones_bytes; one that deletes key by key is taken), kReadOnly.
  virtual std::optional<Status> TryWrite(const WriteBatch& batch, Durability durability) = 0;
  // `batch` must outlive the Task.
  virtual Task<Status> Write(const WriteBatch& batch, Durability durability) = 0;
  // Makes everything that was written before the call durable.
  virtual Task<Status> Sync() = 0;

  // Writes the memtable out and waits until no compaction is due. For tools, tests and benchmarks.
  virtual Task<Status> Settle() = 0;
  // Reads everything that is on the device, while the store is in use (engine/store/scrub.h). On the executor
  // that awaits it; must have ended before Close is called. `observer` must outlive the Task.
  virtual Task<Result<ScrubSummary>> Scrub(ScrubObserver& observer) = 0;
  // Ends background work, makes everything durable, and leaves the store so that the next open has no log to
  // replay. Idempotent. Nothing else may be running or called afterwards.
  virtual Task<Status> Close() = 0;

  virtual SpaceUsage space_usage() const = 0;
  // A JSON object: bytes by purpose and level, amplifications, latencies as histograms, levels, cache, stalls
  // (docs/operations.md names the fields).
  virtual std::string StatisticsJson() const = 0;
  // Set once writes are refused for good: why. Empty while the store is healthy.
  virtual std::string read_only_reason() const = 0;
};

// Opens the store on a formatted device: superblock, manifest, log replay. `environment` must outlive the
// store. Errors: kCorruption, kUnsupported (a feature this version does not know), kDeviceError. Unless
// read_only is set, a new recovery epoch is on the device when this ends.
Task<Result<std::unique_ptr<Store>>> OpenStore(StoreEnvironment environment, StoreOptions options);

}  // namespace varve
