// MemoryStore: the Store contract kept in a std::map of versions, for tests of what lies above the engine.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/prng.h"
#include "engine/store/scrub.h"
#include "engine/store/store.h"

namespace varve {

struct MemoryStoreOptions {
  // TryGet, TryWrite and iterator moves answer that they must wait once in so many calls; 0: never.
  uint64_t waits_one_in = 0;
  uint64_t seed = 1;
  // What walks by outlines show of values, at most.
  size_t outline_value_bytes = 18;
};

// Any thread. Nothing is durable: Clone() stands for what a crash leaves.
class MemoryStore final : public Store {
 public:
  explicit MemoryStore(MemoryStoreOptions options = {});
  ~MemoryStore() override;

  std::optional<Lookup> TryGet(std::string_view key, const ReadOptions& options) override;
  std::optional<Lookup> BeginGet(std::string_view key, const ReadOptions& options,
                                 std::unique_ptr<UnfinishedGet>& rest) override;
  Task<Lookup> Get(std::string_view key, ReadOptions options) override;
  std::unique_ptr<StoreIterator> NewIterator(std::string_view lower, std::string_view upper,
                                             ReadOptions options) override;
  std::shared_ptr<const Snapshot> GetSnapshot() override;
  SequenceNumber visible_sequence() const override;
  std::optional<Status> TryWrite(const WriteBatch& batch, Durability durability) override;
  Task<Status> Write(const WriteBatch& batch, Durability durability) override;
  Task<Status> Sync() override;
  Task<Status> Settle() override;
  // There is nothing to read.
  Task<Result<ScrubSummary>> Scrub(ScrubObserver& observer) override;
  Task<Status> Close() override;
  SpaceUsage space_usage() const override;
  std::string StatisticsJson() const override;
  std::string read_only_reason() const override;

  // The newest state, as another store.
  std::unique_ptr<MemoryStore> Clone(MemoryStoreOptions options = {}) const;
  // While full, only batches that free space are taken.
  void set_full(bool full);
  // Writes fail with kReadOnly while this is not empty.
  void set_read_only_reason(std::string reason);
  // So many writes succeed, and then all fail with kReadOnly: what a crash there would leave.
  void set_writes_left(uint64_t writes);
  // Reads of this key answer kDeviceError; empty: none.
  void set_unreadable_key(std::string key);

  uint64_t writes() const;
  uint64_t written_bytes() const;
  uint64_t gets() const;
  uint64_t walks() const;  // iterators that were made
  uint64_t syncs() const;
  // Snapshots and iterators that live.
  size_t pins() const;
  // Live keys and their values in order.
  std::vector<std::pair<std::string, std::string>> Dump() const;

 private:
  friend class MemoryStoreIterator;
  friend class MemorySnapshot;
  class Unfinished;

  using Value = std::shared_ptr<const std::string>;  // nullptr: deleted
  struct VersionedValue {
    SequenceNumber sequence;
    Value value;
  };
  // Oldest version first.
  using Entries = std::map<std::string, std::vector<VersionedValue>, std::less<>>;

  // The private calls below that end in Locked need `mutex_`.
  bool Waits();
  Value FindLocked(const std::vector<VersionedValue>& versions, SequenceNumber at) const;
  Lookup GetNow(std::string_view key, const ReadOptions& options);
  Status Apply(const WriteBatch& batch);
  void AddVersionLocked(std::string_view key, Value value);
  void DeleteRangeLocked(std::string_view begin, std::string_view end);
  SequenceNumber PinLocked();
  void Unpin(SequenceNumber sequence);

  mutable std::mutex mutex_;
  Entries entries_;
  SequenceNumber sequence_;
  std::multiset<SequenceNumber> pinned_;
  MemoryStoreOptions options_;
  Prng prng_;
  bool full_ = false;
  std::string read_only_reason_;
  std::string unreadable_key_;
  uint64_t writes_left_ = UINT64_MAX;
  uint64_t live_bytes_ = 0;
  uint64_t writes_ = 0;
  uint64_t walks_ = 0;
  uint64_t written_bytes_ = 0;
  uint64_t gets_ = 0;
  uint64_t syncs_ = 0;
};

}  // namespace varve
