#include "fs/ops/directory_streams.h"

#include <algorithm>
#include <utility>

#include "fs/namespace/namespace_format.h"

namespace varve {

namespace {

// Walks are over within milliseconds, and waiting for them is rare: asking now and then is enough.
constexpr uint64_t kPollNanos = 1'000'000;

}  // namespace

void DirectoryStream::Restart(std::shared_ptr<Listing> listing) {
  memory_.Restart(std::move(listing));
  marks_.Clear();
  last_name_.reset();
  if (memory_.listing() != nullptr && memory_.listing()->is_complete()) {
    last_name_.emplace(memory_.Last());
  }
}

std::shared_ptr<Listing> DirectoryStream::ListingAt(uint64_t version) const {
  const std::shared_ptr<Listing>& listing = memory_.listing();
  const bool is_it = listing != nullptr && listing->is_complete() && listing->version() == version;
  return is_it ? listing : nullptr;
}

void DirectoryStream::CountRequest() {
  if (memory_.listing() != nullptr) {
    memory_.listing()->CountRequest();
  }
}

std::shared_ptr<Listing> DirectoryStream::FinishRecording(uint64_t version) {
  const std::shared_ptr<Listing>& noted = memory_.listing();
  if (noted == nullptr || noted->is_complete() || noted->version() != version ||
      (iterator_ != nullptr && noted->size() != passed_)) {
    return nullptr;
  }
  noted->Complete();
  last_name_.emplace(memory_.Last());
  return noted;
}

std::string_view DirectoryStream::NameAtIterator() const {
  return iterator_->key().substr(NamespaceKey::kInodePrefixBytes);
}

bool DirectoryStream::MayBeShown() {
  // Names that no file may have: a damaged store must not show them.
  if (!IsName(name_)) {
    return false;
  }
  for (; passed_ < memory_.end(); ++passed_) {
    const std::string_view remembered = memory_.At(passed_);
    if (remembered >= name_) {
      return remembered == name_;
    }
  }
  return true;
}

Step DirectoryStream::Settle(Step moved) {
  while (moved == Step::kDone && iterator_->Valid()) {
    name_ = NameAtIterator();
    if (MayBeShown()) {
      return moved;
    }
    moved = iterator_->Next();
  }
  return moved;
}

Task<void> DirectoryStream::Load() {
  do {
    co_await iterator_->Load();
  } while (Settle(Step::kDone) == Step::kNeedsIo);
}

Task<void> DirectoryStream::Seek(const PassedNames::Place& place) {
  const NamespaceKey target = NamespaceKey::Dirent(inode_, place.last);
  if (iterator_->Seek(target) == Step::kNeedsIo) {
    co_await iterator_->Load();
  }
  passed_ = place.passed;
  const bool at_last = place.passed != 0 && iterator_->Valid() && NameAtIterator() == place.last;
  if (Settle(at_last ? iterator_->Next() : Step::kDone) == Step::kNeedsIo) {
    co_await Load();
  }
}

Task<Status> DirectoryStream::MoveTo(uint64_t passed, bool whole_values) {
  const PassedNames::Place place = memory_.Nearest(passed);
  if (last_name_ && place.passed == passed && place.last >= *last_name_) {
    co_return Status();
  }
  if (std::exchange(whole_values_, whole_values) != whole_values) {
    // A walk by outlines does not read what it passes.
    marks_.Clear();
  }
  const NamespaceKey lower = NamespaceKey::Prefix(NamespaceKind::kDirent, inode_);
  std::string upper(NamespaceKey::End(NamespaceKind::kDirent, inode_).view());
  if (last_name_) {
    upper = NamespaceKey::Dirent(inode_, *last_name_).view();
    upper.push_back('\0');  // behind it, and before every other name that sorts behind it
  }
  // What the kernel begins a listing with, attributes and all, is small (fs/fuse): most listings then go on
  // with names alone, or end.
  const bool is_first = place.passed == 0;
  iterator_ = store_.NewIterator(lower, upper,
                                 {.goes_on = !is_first,
                                  .is_short = is_first && whole_values,
                                  .outlines = !whole_values,
                                  .marks = &marks_});
  memory_.ForgetFrom(place.passed);
  co_await Seek(place);
  while (Valid() && passed_ < passed) {
    memory_.NoteUnshown(name_, passed_);
    if (Next() == Step::kNeedsIo) {
      co_await Load();
    }
    memory_.Trim(passed_ - 1);
  }
  // The same place may be asked for again.
  const uint64_t reached = std::min(passed, passed_);
  keep_from_ = reached == 0 ? 0 : reached - 1;
  co_return iterator_->status();
}

Step DirectoryStream::Next() {
  ++passed_;
  return Settle(iterator_->Next());
}

Task<void> DirectoryStream::NoteEnd() {
  if (Valid()) {
    const NamespaceKey upper = NamespaceKey::End(NamespaceKind::kDirent, inode_);
    if (iterator_->SeekForPrev(upper) == Step::kNeedsIo) {
      co_await iterator_->Load();
    }
    if (iterator_->Valid()) {
      last_name_.emplace(NameAtIterator());
    }
  } else if (iterator_->status().ok()) {
    last_name_.emplace(memory_.Last());
  }
}

Task<void> DirectoryStream::Rest() {
  if (!last_name_) {
    co_await NoteEnd();
  }
  iterator_ = nullptr;
  memory_.Trim(keep_from_);
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
    if (removed->kernel_keeps()) {
      kept_by_kernel_.erase(removed->inode().value);
    }
  }
}

bool DirectoryStreams::TryLetKernelKeep(DirectoryStream& stream, uint64_t version) {
  const std::lock_guard lock(mutex_);
  const bool is_only_one = kept_by_kernel_.insert(stream.inode().value).second;
  if (is_only_one) {
    stream.set_kernel_keeps(version);
  }
  return is_only_one;
}

bool DirectoryStreams::AreFew() const {
  const std::lock_guard lock(mutex_);
  return streams_.size() <= kFewMax;
}

bool DirectoryStreams::TryBeginWalk() {
  const std::lock_guard lock(mutex_);
  if (streams_.size() > kFewMax) {
    return false;
  }
  ++walks_;
  return true;
}

void DirectoryStreams::EndWalk() {
  const std::lock_guard lock(mutex_);
  --walks_;
}

Task<void> DirectoryStreams::Close() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      streams_.clear();
      kept_by_kernel_.clear();
      if (walks_ == 0) {
        co_return;
      }
    }
    co_await Executor::Current().Sleep(kPollNanos);
  }
}

}  // namespace varve
