#include "fs/ops/directory_streams.h"

#include <algorithm>
#include <utility>

#include "fs/namespace/namespace_format.h"

namespace varve {

DirectoryStream::DirectoryStream(Store& store, InodeNumber inode) : store_(store), inode_(inode) {
  Restart();
}

void DirectoryStream::Restart() {
  iterator_ = nullptr;
  checkpoints_.clear();
  ordinal_ = 0;
  snapshot_ = store_.GetSnapshot();
}

std::string_view DirectoryStream::name() const {
  return iterator_->key().substr(NamespaceKey::kInodePrefixBytes);
}

Task<void> DirectoryStream::SkipImpossible() {
  while (Valid() && !CheckName(name()).ok()) {
    if (iterator_->Next() == Step::kNeedsIo) {
      co_await iterator_->Load();
    }
  }
}

void DirectoryStream::NoteCheckpoint() {
  if (Valid() && ordinal_ == checkpoints_.size() * kCheckpointEvery) {
    checkpoints_.emplace_back(name());
  }
}

Task<Status> DirectoryStream::MoveTo(uint64_t ordinal) {
  const bool behind = iterator_ == nullptr || ordinal < ordinal_;
  const uint64_t nearest =
      checkpoints_.empty() ? 0 : std::min<uint64_t>(ordinal / kCheckpointEvery, checkpoints_.size() - 1);
  if (behind || nearest * kCheckpointEvery > ordinal_) {
    const NamespaceKey lower = NamespaceKey::Prefix(NamespaceKind::kDirent, inode_);
    const NamespaceKey upper = NamespaceKey::End(NamespaceKind::kDirent, inode_);
    if (iterator_ == nullptr) {
      iterator_ = store_.NewIterator(lower, upper, ReadOptions{snapshot_.get(), true});
    }
    const std::string_view from = checkpoints_.empty() ? std::string_view() : checkpoints_[nearest];
    ordinal_ = checkpoints_.empty() ? 0 : nearest * kCheckpointEvery;
    const NamespaceKey target = NamespaceKey::Dirent(inode_, from);
    if (iterator_->Seek(target) == Step::kNeedsIo) {
      co_await iterator_->Load();
    }
    co_await SkipImpossible();
    NoteCheckpoint();
  }
  while (Valid() && ordinal_ < ordinal) {
    Status moved = co_await Next();
    if (!moved.ok()) {
      co_return moved;
    }
  }
  co_return iterator_->status();
}

Task<Status> DirectoryStream::Next() {
  if (iterator_->Next() == Step::kNeedsIo) {
    co_await iterator_->Load();
  }
  co_await SkipImpossible();
  ++ordinal_;
  NoteCheckpoint();
  co_return iterator_->status();
}

DirectoryHandle DirectoryStreams::Add(std::shared_ptr<DirectoryStream> stream) {
  const std::lock_guard lock(mutex_);
  const DirectoryHandle handle(next_++);
  streams_.emplace(handle.value, std::move(stream));
  return handle;
}

std::shared_ptr<DirectoryStream> DirectoryStreams::Find(DirectoryHandle handle) const {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(handle.value);
  return found == streams_.end() ? nullptr : found->second;
}

void DirectoryStreams::Remove(DirectoryHandle handle) {
  std::shared_ptr<DirectoryStream> removed;
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(handle.value);
  if (found != streams_.end()) {
    removed = std::move(found->second);
    streams_.erase(found);
  }
}

void DirectoryStreams::Clear() {
  const std::lock_guard lock(mutex_);
  streams_.clear();
}

}  // namespace varve
