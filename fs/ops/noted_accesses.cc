#include "fs/ops/noted_accesses.h"

#include <fmt/core.h>

#include <memory>

#include "engine/ring/executor.h"
#include "fs/namespace/namespace_format.h"

namespace varve {

namespace {

// Waiting for the background is rare (unmount): asking now and then is enough.
constexpr uint64_t kPollNanos = 100'000;

}  // namespace

Task<void> NotedAccesses::Load(Store& store, Logger& logger) {
  const NamespaceKey lower = NamespaceKey::KindStart(static_cast<uint8_t>(NamespaceKind::kAccess));
  const NamespaceKey upper = NamespaceKey::KindStart(static_cast<uint8_t>(NamespaceKind::kAccess) + 1);
  const std::unique_ptr<StoreIterator> notes = store.NewIterator(lower, upper, {nullptr, false});
  uint64_t damaged = 0;
  for (Step step = notes->Seek(lower);; step = notes->Next()) {
    if (step == Step::kNeedsIo) {
      co_await notes->Load();
    }
    if (!notes->Valid()) {
      break;
    }
    const std::optional<ParsedKey> key = ParseNamespaceKey(notes->key());
    const Result<AccessRecord> note = DecodeAccess(notes->value());
    if (key && note.ok()) {
      Add(key->inode, note->atime_nanos);
    } else {
      ++damaged;
    }
  }
  if (!notes->status().ok() || damaged > 0) {
    logger.Log(LogLevel::kWarning,
               fmt::format("some files show an older time of their last access: {} notes do not decode{}{}",
                           damaged, notes->status().ok() ? "" : ", and the others cannot be read: ",
                           notes->status().ok() ? "" : notes->status().ToString()));
  }
}

std::optional<int64_t> NotedAccesses::Find(InodeNumber inode) const {
  if (size() == 0) {
    return std::nullopt;
  }
  const Shard& shard = ShardOf(inode);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.times.find(inode.value);
  return found == shard.times.end() ? std::nullopt : std::optional(found->second);
}

void NotedAccesses::Add(InodeNumber inode, int64_t atime_nanos) {
  Shard& shard = ShardOf(inode);
  const std::lock_guard lock(shard.mutex);
  if (shard.times.insert_or_assign(inode.value, atime_nanos).second) {
    count_.fetch_add(1, std::memory_order_relaxed);
  }
}

void NotedAccesses::Drop(InodeNumber inode) {
  Shard& shard = ShardOf(inode);
  const std::lock_guard lock(shard.mutex);
  count_.fetch_sub(shard.times.erase(inode.value), std::memory_order_relaxed);
}

bool NotedAccesses::TryBeginPutBack() {
  if (putting_back_.exchange(true)) {
    return false;
  }
  if (is_stopping()) {
    EndPutBack();
    return false;
  }
  return true;
}

void NotedAccesses::EndPutBack() {
  putting_back_.store(false);
}

Task<void> NotedAccesses::Stop() {
  stopping_.store(true);
  while (putting_back_.load()) {
    co_await Executor::Current().Sleep(kPollNanos);
  }
}

}  // namespace varve
