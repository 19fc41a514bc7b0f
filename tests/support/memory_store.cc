#include "tests/support/memory_store.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/coding.h"
#include "engine/base/internal_key.h"

namespace varve {

class MemorySnapshot final : public Snapshot {
 public:
  MemorySnapshot(MemoryStore& store, SequenceNumber sequence) : store_(store), sequence_(sequence) {}
  ~MemorySnapshot() override { store_.Unpin(sequence_); }
  SequenceNumber sequence() const override { return sequence_; }

 private:
  MemoryStore& store_;
  SequenceNumber sequence_;
};

class MemoryStoreIterator final : public StoreIterator {
 public:
  // Shows no more than `value_bytes` of any value.
  MemoryStoreIterator(MemoryStore& store, std::string_view lower, std::string_view upper, SequenceNumber at,
                      size_t value_bytes)
      : store_(store), lower_(lower), upper_(upper), at_(at), value_bytes_(value_bytes) {}
  ~MemoryStoreIterator() override { store_.Unpin(at_); }

  Step Seek(std::string_view key) override {
    return Move(Direction::kAtOrAfter, std::max(key, std::string_view(lower_)));
  }
  Step SeekForPrev(std::string_view key) override { return Move(Direction::kAtOrBefore, key); }
  Step Next() override {
    Check(Valid(), "Next() of an iterator that is not valid");
    return Move(Direction::kAfter, key_);
  }
  Step Prev() override {
    Check(Valid(), "Prev() of an iterator that is not valid");
    return Move(Direction::kBefore, key_);
  }
  Task<void> Load() override {
    Check(pending_, "Load() without a move that needs it");
    co_await Executor::Current().Yield();
    pending_ = false;
    Complete();
  }

  bool Valid() const override { return !pending_ && value_ != nullptr; }
  std::string_view key() const override { return key_; }
  std::string_view value() const override { return std::string_view(*value_).substr(0, value_bytes_); }
  Status status() const override { return status_; }

 private:
  enum class Direction { kAtOrAfter, kAfter, kAtOrBefore, kBefore };

  Step Move(Direction direction, std::string_view target) {
    Check(!pending_, "a move before the last one was loaded");
    direction_ = direction;
    target_ = std::string(target);
    value_ = nullptr;
    if (store_.Waits()) {
      pending_ = true;
      return Step::kNeedsIo;
    }
    Complete();
    return Step::kDone;
  }

  void Complete() {
    const std::lock_guard lock(store_.mutex_);
    const MemoryStore::Entries& entries = store_.entries_;
    const bool forward = direction_ == Direction::kAtOrAfter || direction_ == Direction::kAfter;
    // Backward, `at` is one past the candidate.
    const bool past_equal = direction_ == Direction::kAfter || direction_ == Direction::kAtOrBefore;
    auto at = past_equal ? entries.upper_bound(target_) : entries.lower_bound(target_);
    while (forward ? at != entries.end() : at != entries.begin()) {
      if (!forward) {
        --at;
      }
      if (forward ? !upper_.empty() && at->first >= upper_ : at->first < lower_) {
        return;
      }
      const bool inside = upper_.empty() || at->first < upper_;
      MemoryStore::Value value = inside ? store_.FindLocked(at->second, at_) : nullptr;
      if (value != nullptr) {
        if (at->first == store_.unreadable_key_) {
          status_ = DeviceError("the test made this key unreadable");
          return;
        }
        key_ = at->first;
        value_ = std::move(value);
        return;
      }
      if (forward) {
        ++at;
      }
    }
  }

  MemoryStore& store_;
  std::string lower_;
  std::string upper_;
  SequenceNumber at_;
  const size_t value_bytes_;
  Direction direction_ = Direction::kAtOrAfter;
  std::string target_;
  bool pending_ = false;
  std::string key_;
  MemoryStore::Value value_;
  Status status_;
};

MemoryStore::MemoryStore(MemoryStoreOptions options) : options_(options), prng_(options.seed) {
}

MemoryStore::~MemoryStore() {
  Check(pinned_.empty(), "a snapshot or an iterator outlives its store");
}

bool MemoryStore::Waits() {
  const std::lock_guard lock(mutex_);
  return options_.waits_one_in != 0 && prng_.OneIn(options_.waits_one_in);
}

MemoryStore::Value MemoryStore::FindLocked(const std::vector<VersionedValue>& versions,
                                           SequenceNumber at) const {
  for (size_t i = versions.size(); i > 0; --i) {
    if (versions[i - 1].sequence <= at) {
      return versions[i - 1].value;
    }
  }
  return nullptr;
}

Store::Lookup MemoryStore::GetNow(std::string_view key, const ReadOptions& options) {
  const std::lock_guard lock(mutex_);
  ++gets_;
  if (!unreadable_key_.empty() && key == unreadable_key_) {
    return DeviceError("the test made this key unreadable");
  }
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    return std::optional<PinnedValue>();
  }
  const SequenceNumber at = options.snapshot != nullptr ? options.snapshot->sequence() : sequence_;
  Value value = FindLocked(found->second, at);
  if (value == nullptr) {
    return std::optional<PinnedValue>();
  }
  const std::string_view bytes = *value;
  return std::optional<PinnedValue>(PinnedValue(bytes, std::move(value)));
}

std::optional<Store::Lookup> MemoryStore::TryGet(std::string_view key, const ReadOptions& options) {
  if (Waits()) {
    return std::nullopt;
  }
  return GetNow(key, options);
}

class MemoryStore::Unfinished final : public Store::UnfinishedGet {
 public:
  // Where `options` has no snapshot, one of this moment.
  Unfinished(MemoryStore& store, std::string_view key, ReadOptions options)
      : store_(store), key_(key), now_(store.GetSnapshot()), options_(std::move(options)) {
    if (options_.snapshot == nullptr) {
      options_.snapshot = now_.get();
    }
  }
  Task<Lookup> Finish() override { return store_.Get(key_, options_); }

 private:
  MemoryStore& store_;
  const std::string key_;
  const std::shared_ptr<const Snapshot> now_;
  ReadOptions options_;
};

std::optional<Store::Lookup> MemoryStore::BeginGet(std::string_view key, const ReadOptions& options,
                                                   std::unique_ptr<UnfinishedGet>& rest) {
  std::optional<Lookup> answer = TryGet(key, options);
  if (!answer) {
    rest = std::make_unique<Unfinished>(*this, key, options);
  }
  return answer;
}

Task<Store::Lookup> MemoryStore::Get(std::string_view key, ReadOptions options) {
  if (Waits()) {
    co_await Executor::Current().Yield();
  }
  co_return GetNow(key, options);
}

std::unique_ptr<StoreIterator> MemoryStore::NewIterator(std::string_view lower, std::string_view upper,
                                                        ReadOptions options) {
  const std::lock_guard lock(mutex_);
  ++walks_;
  SequenceNumber at = sequence_;
  if (options.snapshot != nullptr) {
    at = options.snapshot->sequence();
  }
  pinned_.insert(at);
  const size_t value_bytes = options.outlines ? options_.outline_value_bytes : SIZE_MAX;
  return std::make_unique<MemoryStoreIterator>(*this, lower, upper, at, value_bytes);
}

std::shared_ptr<const Snapshot> MemoryStore::GetSnapshot() {
  const std::lock_guard lock(mutex_);
  return std::make_shared<MemorySnapshot>(*this, PinLocked());
}

SequenceNumber MemoryStore::visible_sequence() const {
  const std::lock_guard lock(mutex_);
  return sequence_;
}

SequenceNumber MemoryStore::PinLocked() {
  pinned_.insert(sequence_);
  return sequence_;
}

void MemoryStore::Unpin(SequenceNumber sequence) {
  const std::lock_guard lock(mutex_);
  pinned_.erase(pinned_.find(sequence));
}

void MemoryStore::AddVersionLocked(std::string_view key, Value value) {
  auto found = entries_.find(key);
  if (found == entries_.end()) {
    if (value == nullptr) {
      return;
    }
    found = entries_.emplace(std::string(key), std::vector<VersionedValue>()).first;
  }
  std::vector<VersionedValue>& versions = found->second;
  live_bytes_ -= !versions.empty() && versions.back().value ? versions.back().value->size() : 0;
  live_bytes_ += value ? value->size() : 0;
  versions.push_back({sequence_, std::move(value)});
  // A version stays while it is the newest that some snapshot sees.
  std::vector<VersionedValue> kept;
  for (size_t i = 0; i < versions.size(); ++i) {
    const bool newest = i + 1 == versions.size();
    const auto pin = pinned_.lower_bound(versions[i].sequence);
    if (newest || (pin != pinned_.end() && *pin < versions[i + 1].sequence)) {
      kept.push_back(std::move(versions[i]));
    }
  }
  versions = std::move(kept);
  if (versions.size() == 1 && versions[0].value == nullptr) {
    entries_.erase(found);
  }
}

void MemoryStore::DeleteRangeLocked(std::string_view begin, std::string_view end) {
  std::vector<std::string> keys;
  for (auto entry = entries_.lower_bound(begin); entry != entries_.end() && entry->first < end; ++entry) {
    keys.push_back(entry->first);
  }
  for (const std::string& key : keys) {
    AddVersionLocked(key, nullptr);
  }
}

Status MemoryStore::Apply(const WriteBatch& batch) {
  const std::lock_guard lock(mutex_);
  if (!read_only_reason_.empty()) {
    return ReadOnly(read_only_reason_);
  }
  if (full_ && !batch.frees_space()) {
    return NoSpace("the test says that the store is full");
  }
  if (batch.bytes() > kBatchBytesMax) {
    return InvalidArgument("the batch is too large");
  }
  if (writes_left_ == 0) {
    return ReadOnly("the test allows no more writes");
  }
  --writes_left_;
  ++writes_;
  written_bytes_ += batch.bytes();
  sequence_ = sequence_.Next();
  Decoder decoder(batch.records());
  for (uint32_t i = 0; i < batch.count(); ++i) {
    const auto kind = decoder.Fixed<uint8_t>();
    const auto key = decoder.LengthPrefixed();
    Check(kind.has_value() && key.has_value(), "a batch does not decode");
    Check(!key->empty() && key->size() <= kKeyBytesMax, "a key of a size that no store takes");
    if (static_cast<RecordKind>(*kind) == RecordKind::kRangeTombstone) {
      const auto end = decoder.LengthPrefixed();
      Check(end.has_value() && *key < *end, "a batch does not decode");
      DeleteRangeLocked(*key, *end);
      continue;
    }
    Value value;
    if (static_cast<RecordKind>(*kind) == RecordKind::kValue) {
      const auto bytes = decoder.LengthPrefixed();
      Check(bytes.has_value(), "a batch does not decode");
      value = std::make_shared<const std::string>(*bytes);
    }
    AddVersionLocked(*key, std::move(value));
  }
  Check(decoder.empty(), "a batch has bytes after its last record");
  return {};
}

std::optional<Status> MemoryStore::TryWrite(const WriteBatch& batch, Durability durability) {
  if (durability == Durability::kDurable || Waits()) {
    return std::nullopt;
  }
  return Apply(batch);
}

Task<Status> MemoryStore::Write(const WriteBatch& batch, Durability durability) {
  if (Waits()) {
    co_await Executor::Current().Yield();
  }
  Status applied = Apply(batch);
  if (durability == Durability::kDurable) {
    const std::lock_guard lock(mutex_);
    ++syncs_;
  }
  co_return applied;
}

Task<Status> MemoryStore::Sync() {
  if (Waits()) {
    co_await Executor::Current().Yield();
  }
  const std::lock_guard lock(mutex_);
  ++syncs_;
  co_return Status();
}

Task<Status> MemoryStore::Settle() {
  co_return Status();
}

Task<Result<ScrubSummary>> MemoryStore::Scrub(ScrubObserver& /*observer*/) {
  co_return ScrubSummary();
}

Task<Status> MemoryStore::Close() {
  co_return Status();
}

SpaceUsage MemoryStore::space_usage() const {
  const std::lock_guard lock(mutex_);
  return {kGiB, kGiB, live_bytes_};
}

std::string MemoryStore::StatisticsJson() const {
  return "{}";
}

std::string MemoryStore::read_only_reason() const {
  const std::lock_guard lock(mutex_);
  return read_only_reason_;
}

std::unique_ptr<MemoryStore> MemoryStore::Clone(MemoryStoreOptions options) const {
  auto clone = std::make_unique<MemoryStore>(options);
  const std::lock_guard lock(mutex_);
  clone->sequence_ = sequence_;
  for (const auto& [key, versions] : entries_) {
    if (versions.back().value != nullptr) {
      clone->entries_[key] = {versions.back()};
      clone->live_bytes_ += versions.back().value->size();
    }
  }
  return clone;
}

void MemoryStore::set_full(bool full) {
  const std::lock_guard lock(mutex_);
  full_ = full;
}

void MemoryStore::set_writes_left(uint64_t writes) {
  const std::lock_guard lock(mutex_);
  writes_left_ = writes;
}

void MemoryStore::set_read_only_reason(std::string reason) {
  const std::lock_guard lock(mutex_);
  read_only_reason_ = std::move(reason);
}

void MemoryStore::set_unreadable_key(std::string key) {
  const std::lock_guard lock(mutex_);
  unreadable_key_ = std::move(key);
}

uint64_t MemoryStore::walks() const {
  const std::lock_guard lock(mutex_);
  return walks_;
}

uint64_t MemoryStore::writes() const {
  const std::lock_guard lock(mutex_);
  return writes_;
}

uint64_t MemoryStore::written_bytes() const {
  const std::lock_guard lock(mutex_);
  return written_bytes_;
}

uint64_t MemoryStore::gets() const {
  const std::lock_guard lock(mutex_);
  return gets_;
}

uint64_t MemoryStore::syncs() const {
  const std::lock_guard lock(mutex_);
  return syncs_;
}

size_t MemoryStore::pins() const {
  const std::lock_guard lock(mutex_);
  return pinned_.size();
}

std::vector<std::pair<std::string, std::string>> MemoryStore::Dump() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, std::string>> live;
  for (const auto& [key, versions] : entries_) {
    if (versions.back().value != nullptr) {
      live.emplace_back(key, *versions.back().value);
    }
  }
  return live;
}

}  // namespace varve
