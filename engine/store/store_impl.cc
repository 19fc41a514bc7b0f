#include "engine/store/store_impl.h"

#include <utility>

#include "engine/ring/frame_pool.h"
#include "engine/store/read_path.h"
#include "engine/store/store_iterator.h"

namespace varve {

namespace {

CacheFill FillOf(const ReadOptions& options) {
  if (!options.fill_cache) {
    return CacheFill::kNothing;
  }
  return options.keeps_value ? CacheFill::kAllButLoneValues : CacheFill::kAll;
}

}  // namespace

StoreImpl::StoreImpl(StoreEnvironment environment, StoreOptions options)
    : environment_(std::move(environment)),
      options_(options),
      health_(environment_.logger),
      cache_(options.block_cache_bytes),
      background_reads_(options.block_cache_bytes),
      superblocks_(environment_.device) {
}

StoreImpl::~StoreImpl() {
  Check(scheduler_ == nullptr || closed_.load(), "a store was destroyed without Close");
}

PointRead StoreImpl::BeginPointRead(std::string_view key, const ReadOptions& options,
                                    HotCounters::Line& counters) {
  ReadStates::Pin state = memtables_->states().Acquire();
  // After the state was pinned: what the state has lost to merges was hidden at this number already. A number
  // that it lacks came while this call ran.
  const SequenceNumber at =
      options.snapshot != nullptr ? options.snapshot->sequence() : memtables_->visible();
  return PointRead(*tables_, std::move(state), key, at, counters);
}

std::optional<Store::Lookup> StoreImpl::RunInMemory(PointRead& read, HotCounters::Line& counters) {
  const bool timed =
      counters.gets.fetch_add(1, std::memory_order_relaxed) % StoreStatistics::kTimedOneIn == 0;
  const uint64_t begin = timed ? environment_.clock.MonotonicNanos() : 0;
  std::optional<Lookup> answer = read.TryMemory();
  if (!answer) {
    return answer;
  }
  if (answer->ok() && (*answer)->has_value()) {
    counters.gets_found.fetch_add(1, std::memory_order_relaxed);
  }
  if (timed) {
    statistics_.get_from_memory.Add(environment_.clock.MonotonicNanos() - begin);
  }
  return answer;
}

Task<Store::Lookup> StoreImpl::ReadOn(PointRead& read, CacheFill fill, HotCounters::Line& counters) {
  const uint64_t begin = environment_.clock.MonotonicNanos();
  Lookup answer = co_await read.Read(fill, lookup_readahead_);
  counters.gets_from_device.fetch_add(1, std::memory_order_relaxed);
  if (answer.ok() && answer->has_value()) {
    counters.gets_found.fetch_add(1, std::memory_order_relaxed);
  }
  statistics_.get_from_device.Add(environment_.clock.MonotonicNanos() - begin);
  co_return answer;
}

namespace {

// A copy of a key; most need no memory of their own.
class KeptKey {
 public:
  explicit KeptKey(std::string_view key) : bytes_(key.size()) {
    if (bytes_ > sizeof(here_)) {
      apart_ = std::make_unique<char[]>(bytes_);
    }
    key.copy(apart_ ? apart_.get() : here_, bytes_);
  }
  KeptKey(const KeptKey&) = delete;
  KeptKey& operator=(const KeptKey&) = delete;

  std::string_view view() const { return {apart_ ? apart_.get() : here_, bytes_}; }

 private:
  const size_t bytes_;
  std::unique_ptr<char[]> apart_;
  char here_[48];
};

}  // namespace

class StoreImpl::UnfinishedPointRead final : public Store::UnfinishedGet, public ShortLived {
 public:
  UnfinishedPointRead(StoreImpl& store, std::string_view key, PointRead read, CacheFill fill,
                      HotCounters::Line& counters)
      : store_(store), key_(key), read_(std::move(read), key_.view()), fill_(fill), counters_(counters) {}

  Task<Lookup> Finish() override { return store_.ReadOn(read_, fill_, counters_); }

 private:
  StoreImpl& store_;
  const KeptKey key_;
  PointRead read_;
  const CacheFill fill_;
  HotCounters::Line& counters_;
};

std::optional<Store::Lookup> StoreImpl::TryGet(std::string_view key, const ReadOptions& options) {
  if (key.size() > kKeyBytesMax) {
    return Lookup(InvalidArgument("the key is too long"));
  }
  HotCounters::Line& counters = statistics_.hot.mine();
  PointRead read = BeginPointRead(key, options, counters);
  std::optional<Lookup> answer = RunInMemory(read, counters);
  if (!answer) {
    // The Get that follows counts as the same read.
    counters.gets.fetch_sub(1, std::memory_order_relaxed);
  }
  return answer;
}

std::optional<Store::Lookup> StoreImpl::BeginGet(std::string_view key, const ReadOptions& options,
                                                 std::unique_ptr<UnfinishedGet>& rest) {
  if (key.size() > kKeyBytesMax) {
    return Lookup(InvalidArgument("the key is too long"));
  }
  HotCounters::Line& counters = statistics_.hot.mine();
  PointRead read = BeginPointRead(key, options, counters);
  std::optional<Lookup> answer = RunInMemory(read, counters);
  if (!answer) {
    rest = std::make_unique<UnfinishedPointRead>(*this, key, std::move(read), FillOf(options), counters);
  }
  return answer;
}

Task<Store::Lookup> StoreImpl::Get(std::string_view key, ReadOptions options) {
  if (key.size() > kKeyBytesMax) {
    co_return InvalidArgument("the key is too long");
  }
  HotCounters::Line& counters = statistics_.hot.mine();
  PointRead read = BeginPointRead(key, options, counters);
  if (std::optional<Lookup> answer = RunInMemory(read, counters)) {
    co_return std::move(*answer);
  }
  Lookup answer = co_await ReadOn(read, FillOf(options), counters);
  co_return answer;
}

std::unique_ptr<StoreIterator> StoreImpl::NewIterator(std::string_view lower, std::string_view upper,
                                                      ReadOptions options) {
  statistics_.iterators.fetch_add(1, std::memory_order_relaxed);
  // The state first, as in BeginPointRead.
  const ReadStates::Pin pin = memtables_->states().Acquire();
  std::shared_ptr<const ReadState> state = pin.shared();
  const SequenceNumber at =
      options.snapshot != nullptr ? options.snapshot->sequence() : memtables_->visible();
  std::unique_ptr<InternalIterator> inner =
      NewStateIterator(*tables_, background_reads_, *state, at, lower, upper, options);
  TombstoneObserver* const observer =
      scheduler_ != nullptr && shape_.tree.deletes.enabled() && options.fill_cache ? this : nullptr;
  std::unique_ptr<WalkCovers> covers =
      HasRangeTombstones(*state) ? std::make_unique<WalkCovers>(*state, at) : nullptr;
  return std::make_unique<UserIterator>(std::move(state), std::move(inner), std::move(covers), at, lower,
                                        upper, observer);
}

std::shared_ptr<const Snapshot> StoreImpl::GetSnapshot() {
  statistics_.snapshots.fetch_add(1, std::memory_order_relaxed);
  return snapshots_.Take(memtables_->visible_number());
}

SpaceUsage StoreImpl::space_usage() const {
  const SpaceNumbers numbers = allocator_->numbers();
  SpaceUsage usage;
  usage.device_bytes = environment_.device.size_bytes();
  usage.usable_bytes = numbers.total_bytes - numbers.internal_share_bytes;
  usage.used_bytes =
      usage.usable_bytes - std::min(usage.usable_bytes, numbers.user_available_after_reclaim_bytes);
  // Buffers go as soon as anybody asks for their space.
  usage.used_bytes -= std::min(usage.used_bytes, versions_->current()->buffer_bytes());
  return usage;
}

void StoreImpl::OnInstalled(const std::shared_ptr<const Version>& version, const VersionEdit& edit) {
  if (memtables_ != nullptr) {
    memtables_->OnInstalled(version);
  }
  if (filter_budget_ != nullptr) {
    filter_budget_->Update(*version);
  }
  if (scheduler_ != nullptr && !edit.added_wal_segments.empty()) {
    // The log may have become too long.
    scheduler_->Wake();
  }
  if (environment_.installs != nullptr) {
    environment_.installs->OnInstalled(version, edit);
  }
}

void StoreImpl::OnReadersHavePaid() {
  if (scheduler_ != nullptr) {
    scheduler_->OnReadersHavePaid();
  }
}

void StoreImpl::OnTombstonesPassed(const KeyRangeView& range, uint64_t tombstones) {
  scheduler_->OnTombstonesPassed(range, tombstones);
}

void StoreImpl::OnTableReleased(const TableView& view, std::vector<Extent> unreferenced, bool is_last) {
  allocator_->Release(unreferenced);
  if (scheduler_ == nullptr) {
    if (is_last) {
      cache_.EraseTable(view.id);
    }
  } else if (is_last) {
    // Thousands of blocks take milliseconds, and this may be any thread.
    scheduler_->OnTableGone(view.id);
  } else {
    scheduler_->Wake();
  }
}

Task<Result<std::unique_ptr<Store>>> OpenStore(StoreEnvironment environment, StoreOptions options) {
  Check(!environment.background.empty(), "a store needs an executor for its background work");
  auto store = std::make_unique<StoreImpl>(std::move(environment), options);
  const Status opened = co_await store->Open();
  if (!opened.ok()) {
    co_return opened.error();
  }
  co_return std::unique_ptr<Store>(std::move(store));
}

}  // namespace varve
