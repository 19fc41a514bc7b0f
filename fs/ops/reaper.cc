#include "fs/ops/reaper.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/ring/spawn_on.h"
#include "fs/namespace/namespace_format.h"

namespace varve {

namespace {

// Waiting for the background is rare (unmount, tests): asking now and then is enough.
constexpr uint64_t kPollNanos = 100'000;

}  // namespace

Reaper::Reaper(Store& store, const Content& content, Logger& logger, Executor& background, InodeLocks& locks,
               const NodeTable& nodes)
    : store_(store),
      content_(content),
      logger_(logger),
      background_(background),
      locks_(locks),
      nodes_(nodes) {
}

Reaper::~Reaper() {
  Check(!running_, "a filesystem was destroyed before it was unmounted");
}

void Reaper::Enqueue(InodeNumber inode) {
  Push({inode});
}

void Reaper::Push(const Work& work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(work);
    if (running_ || stopping_) {
      return;
    }
    running_ = true;
  }
  SpawnOn(background_, Run());
}

std::optional<Reaper::Work> Reaper::Pop() {
  const std::lock_guard lock(mutex_);
  if (queue_.empty() || stopping_) {
    running_ = false;
    return std::nullopt;
  }
  const Work work = queue_.front();
  queue_.pop_front();
  return work;
}

Task<void> Reaper::Run() {
  while (true) {
    const std::optional<Work> work = Pop();
    if (!work) {
      // Nothing of this may be touched any more: whoever waits for the end may destroy it now.
      co_return;
    }
    Result<bool> again = co_await DoBatch(*work);
    if (!again.ok()) {
      logger_.Log(LogLevel::kWarning,
                  "removing what is left of a file failed, the next mount tries again: " + again.ToString());
      const std::lock_guard lock(mutex_);
      failure_ = again.status();
    } else if (*again) {
      const std::lock_guard lock(mutex_);
      queue_.push_front(*work);
    }
    co_await background_.Yield();
  }
}

bool Reaper::HasStaleChunks(InodeNumber inode) const {
  return stale_files_.load(std::memory_order_acquire) > 0 && FindStale(inode).has_value();
}

std::optional<Reaper::Stale> Reaper::FindStale(InodeNumber inode) const {
  const std::lock_guard lock(mutex_);
  const auto found = stale_.find(inode.value);
  return found == stale_.end() ? std::nullopt : std::optional(found->second);
}

void Reaper::SetStale(InodeNumber inode, Stale stale) {
  const std::lock_guard lock(mutex_);
  if (stale.chunks.empty()) {
    stale_.erase(inode.value);
  } else {
    stale_[inode.value] = stale;
  }
  stale_files_.store(stale_.size(), std::memory_order_release);
}

void Reaper::StageStale(InodeNumber inode, bool is_orphan, StaleChunks stale, WriteBatch& batch) const {
  if (const std::optional<Stale> old = FindStale(inode)) {
    stale.end = std::max(stale.end, old->chunks.end);
  }
  if (!is_orphan && !stale.empty()) {
    std::string value;
    AppendOrphanTruncation(value, stale.from, stale.end);
    batch.Put(NamespaceKey::Orphan(inode), value);
  }
}

void Reaper::AddStale(InodeNumber inode, bool is_orphan, StaleChunks stale) {
  if (const std::optional<Stale> old = FindStale(inode)) {
    stale.end = std::max(stale.end, old->chunks.end);
  }
  SetStale(inode, Stale{stale, is_orphan});
  Push({inode});
}

void Reaper::MarkOrphaned(InodeNumber inode) {
  if (std::optional<Stale> stale = FindStale(inode)) {
    stale->is_orphan = true;
    SetStale(inode, *stale);
  }
}

Task<Status> Reaper::RemoveStale(InodeNumber inode, uint64_t below) {
  const std::optional<Stale> stale = FindStale(inode);
  if (!stale || stale->chunks.from >= below) {
    co_return Status();
  }
  WriteBatch batch;
  batch.MarkFreesSpace();
  Status staged = co_await StageChunkDeletes(inode, stale->chunks.from, stale->chunks.end, batch);
  if (!staged.ok()) {
    co_return staged;
  }
  if (!stale->is_orphan) {
    batch.Delete(NamespaceKey::Orphan(inode));
  }
  Status written = co_await Write(batch);
  if (!written.ok()) {
    co_return written;
  }
  SetStale(inode, Stale{{}, stale->is_orphan});
  co_return Status();
}

Task<Status> Reaper::StageChunkDeletes(InodeNumber inode, uint64_t from, uint64_t end,
                                       WriteBatch& batch) const {
  const NamespaceKey lower = NamespaceKey::Chunk(inode, from);
  const NamespaceKey upper =
      end == UINT64_MAX ? NamespaceKey::End(NamespaceKind::kChunk, inode) : NamespaceKey::Chunk(inode, end);
  const std::unique_ptr<StoreIterator> chunks = store_.NewIterator(lower, upper, ReadOptions());
  if (chunks->Seek(lower) == Step::kNeedsIo) {
    co_await chunks->Load();
  }
  std::vector<uint64_t> found;
  while (chunks->Valid() && found.size() < Content::kChunksWorthARange) {
    const std::optional<ParsedKey> key = ParseNamespaceKey(chunks->key());
    if (!key) {
      co_return Corruption("a chunk's key does not decode");
    }
    found.push_back(key->chunk_index);
    if (chunks->Next() == Step::kNeedsIo) {
      co_await chunks->Load();
    }
  }
  Status ended = chunks->status();
  if (!ended.ok()) {
    co_return ended;
  }
  Content::StageDeletes(inode, from, end, found.size(), found.data(), batch);
  co_return Status();
}

Task<Status> Reaper::StageXattrDeletes(InodeNumber inode, WriteBatch& batch) const {
  const NamespaceKey lower = NamespaceKey::Prefix(NamespaceKind::kXattr, inode);
  const NamespaceKey upper = NamespaceKey::End(NamespaceKind::kXattr, inode);
  const std::unique_ptr<StoreIterator> xattrs = store_.NewIterator(lower, upper, ReadOptions());
  if (xattrs->Seek(lower) == Step::kNeedsIo) {
    co_await xattrs->Load();
  }
  // All of them: the names that one inode may have fit in a batch.
  while (xattrs->Valid()) {
    batch.Delete(xattrs->key());
    if (xattrs->Next() == Step::kNeedsIo) {
      co_await xattrs->Load();
    }
  }
  co_return xattrs->status();
}

Task<Status> Reaper::Write(WriteBatch& batch) {
  const uint32_t deletes = batch.count();
  Status written = co_await store_.Write(batch, Durability::kInterval);
  if (written.ok()) {
    deletes_written_.fetch_add(deletes, std::memory_order_relaxed);
  }
  co_return written;
}

Task<Result<bool>> Reaper::DoBatch(Work work) {
  const InodeLocks::Guard guard = co_await locks_.Lock(work.inode);
  if (FindStale(work.inode).has_value()) {
    // One batch and no more: a writer of this file may be waiting.
    Status removed = co_await RemoveStale(work.inode, UINT64_MAX);
    if (!removed.ok()) {
      co_return removed.error();
    }
    co_return true;
  }
  const Status removed = co_await RemoveOrphan(work);
  if (!removed.ok()) {
    co_return removed.error();
  }
  co_return false;
}

bool Reaper::StageKnownChunks(const Work& work, const Inode& file, WriteBatch& batch) const {
  if (work.found_at_open || (file.chunked && content_.HasHoles(file))) {
    return false;
  }
  const uint64_t chunks = file.chunked ? file.chunk_count : 0;
  Content::StageDeletes(work.inode, 0, UINT64_MAX, chunks, nullptr, batch);
  return true;
}

Task<Status> Reaper::RemoveOrphan(Work work) {
  const NamespaceKey key = NamespaceKey::Orphan(work.inode);
  std::optional<Inode> file;
  {
    // Not held while the batch waits for space (unpin.h).
    Store::Lookup found = co_await store_.Get(key, ReadOptions());
    if (!found.ok()) {
      co_return found.error();
    }
    // A truncation that is finished has no record any more; a file that is in use waits until it is
    // forgotten.
    if (!*found || nodes_.Contains(work.inode)) {
      co_return Status();
    }
    const Result<OrphanRecord> orphan = DecodeOrphan((*found)->bytes());
    if (!orphan.ok()) {
      co_return orphan.error();
    }
    if (orphan->file) {
      file = orphan->file->inode;
    }
  }
  WriteBatch batch;
  batch.MarkFreesSpace();
  Status staged;
  if (!file || !StageKnownChunks(work, *file, batch)) {
    staged = co_await StageChunkDeletes(work.inode, 0, UINT64_MAX, batch);
  }
  if (staged.ok() && (!file || file->has_xattrs)) {
    staged = co_await StageXattrDeletes(work.inode, batch);
  }
  if (!staged.ok()) {
    co_return staged;
  }
  batch.Delete(key);
  Status written = co_await Write(batch);
  co_return written;
}

Task<Status> Reaper::Recover(bool start) {
  const NamespaceKey lower = NamespaceKey::KindStart(static_cast<uint8_t>(NamespaceKind::kOrphan));
  const NamespaceKey upper = NamespaceKey::KindStart(static_cast<uint8_t>(NamespaceKind::kOrphan) + 1);
  const std::unique_ptr<StoreIterator> orphans = store_.NewIterator(lower, upper, ReadOptions());
  if (orphans->Seek(lower) == Step::kNeedsIo) {
    co_await orphans->Load();
  }
  while (orphans->Valid()) {
    const std::optional<ParsedKey> key = ParseNamespaceKey(orphans->key());
    const Result<OrphanRecord> orphan = DecodeOrphan(orphans->value());
    if (!key || !orphan.ok()) {
      // fsck reports it; its chunks stay, and nobody reads them.
      logger_.Log(LogLevel::kWarning, "an orphan record does not decode and is left alone");
    } else {
      if (!orphan->file) {
        SetStale(key->inode, Stale{{orphan->stale_from, orphan->stale_end}, false});
      }
      if (start) {
        Push({key->inode, true});
      }
    }
    if (orphans->Next() == Step::kNeedsIo) {
      co_await orphans->Load();
    }
  }
  co_return orphans->status();
}

Task<void> Reaper::Stop() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      if (!running_) {
        co_return;
      }
    }
    co_await Executor::Current().Sleep(kPollNanos);
  }
}

Task<Status> Reaper::Finish() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (!running_) {
        co_return std::exchange(failure_, Status());
      }
    }
    co_await Executor::Current().Sleep(kPollNanos);
  }
}

uint64_t Reaper::waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.size() + (running_ ? 1 : 0);
}

}  // namespace varve
