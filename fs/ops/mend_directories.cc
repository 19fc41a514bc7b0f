// The mends that make directories: lost ones that still have entries, and lost+found.
#include <fmt/core.h>

#include <memory>
#include <utility>

#include "fs/ops/mend_namespace.h"

namespace varve {

namespace {

constexpr std::string_view kLostAndFoundName = "lost+found";
constexpr uint32_t kNamesTried = 1000;

struct DirectoryCounts {
  uint64_t entries = 0;
  uint32_t subdirectories = 0;
};

Task<Result<DirectoryCounts>> CountEntries(Store& store, InodeNumber directory) {
  const NamespaceKey lower = NamespaceKey::Prefix(NamespaceKind::kDirent, directory);
  const NamespaceKey upper = NamespaceKey::End(NamespaceKind::kDirent, directory);
  const std::unique_ptr<StoreIterator> entries = store.NewIterator(lower, upper, {nullptr, false});
  DirectoryCounts counts;
  for (Step step = entries->Seek(lower);; step = entries->Next()) {
    if (step == Step::kNeedsIo) {
      co_await entries->Load();
    }
    if (!entries->Valid()) {
      break;
    }
    const Result<DirentSummary> dirent = DecodeDirentSummary(entries->value());
    ++counts.entries;
    counts.subdirectories += dirent.ok() && S_ISDIR(dirent->type) ? 1 : 0;
  }
  if (!entries->status().ok()) {
    co_return entries->status().error();
  }
  co_return counts;
}

}  // namespace

Inode NamespaceMender::NewDirectory(InodeNumber number, InodeNumber parent) const {
  Inode inode;
  inode.number = number;
  // Whose it was is lost: nobody but root may look until somebody has decided.
  inode.mode = S_IFDIR | (number == kRootInode ? 0755 : 0700);
  inode.mtime_nanos = inode.atime_nanos = inode.ctime_nanos = inode.btime_nanos = now_nanos_;
  inode.parent = parent;
  return inode;
}

Task<Result<std::string>> NamespaceMender::MakeDirectory(InodeNumber inode) {
  const Result<std::optional<std::string>> existing =
      co_await Read(std::string(NamespaceKey::OfInode(inode).view()));
  if (!existing.ok()) {
    co_return existing.error();
  }
  if (*existing) {
    co_return std::string();
  }
  const Result<DirectoryCounts> counts = co_await CountEntries(store_, inode);
  if (!counts.ok()) {
    co_return counts.error();
  }
  const std::vector<FoundName>& names = NamesOf(inode);
  const InodeNumber parent = inode == kRootInode || names.empty() ? kRootInode : names.front().parent;
  Loaded made;
  made.key = NamespaceKey::OfInode(inode).view();
  made.inode = NewDirectory(inode, parent);
  made.inode.entry_count = counts->entries;
  made.inode.subdirectory_count = counts->subdirectories;
  WriteBatch batch;
  Stage(batch, made);
  const Status written = co_await Write(batch);
  if (!written.ok()) {
    co_return written.error();
  }
  const std::string done = "made anew, for root alone: what it was and whose is lost";
  if (inode == kRootInode || !names.empty()) {
    co_return done;
  }
  const Result<std::string> attached = co_await Attach(inode);
  if (!attached.ok()) {
    co_return attached;
  }
  co_return fmt::format("{}; {}", done, *attached);
}

Task<Result<std::optional<InodeNumber>>> NamespaceMender::LostAndFound() {
  if (lost_and_found_) {
    co_return lost_and_found_;
  }
  for (uint32_t i = 1; i <= kNamesTried; ++i) {
    std::string name = i == 1 ? std::string(kLostAndFoundName) : fmt::format("{}.{}", kLostAndFoundName, i);
    const Result<std::optional<std::string>> dirent =
        co_await Read(std::string(NamespaceKey::Dirent(kRootInode, name).view()));
    if (!dirent.ok()) {
      co_return dirent.error();
    }
    lost_and_found_path_ = "/" + name;
    if (!*dirent) {
      co_return co_await MakeLostAndFound(std::move(name));
    }
    const Result<DirentRecord> there = DecodeDirent(**dirent);
    if (!there.ok() || there->type != S_IFDIR) {
      continue;
    }
    const Result<std::optional<Loaded>> loaded = co_await Load(there->inode);
    if (!loaded.ok()) {
      co_return loaded.error();
    }
    if (*loaded && (*loaded)->inode.is_directory()) {
      lost_and_found_ = there->inode;
      co_return lost_and_found_;
    }
  }
  co_return std::optional<InodeNumber>();
}

Task<Result<std::optional<InodeNumber>>> NamespaceMender::MakeLostAndFound(std::string name) {
  const Result<std::optional<Loaded>> root = co_await Load(kRootInode);
  if (!root.ok()) {
    co_return root.error();
  }
  const Result<std::optional<std::string>> counter = co_await Read(std::string(kInodeCounterKey));
  if (!counter.ok()) {
    co_return counter.error();
  }
  const Result<InodeNumber> number =
      *counter ? DecodeInodeCounter(**counter) : Result<InodeNumber>(NotFound("no counter"));
  // A number in use that the counter does not know of must not be given to another.
  if (!*root || !(*root)->inode.is_directory() || !number.ok() || counter_is_wrong_) {
    co_return std::optional<InodeNumber>();
  }
  Loaded made;
  made.key = NamespaceKey::OfInode(*number).view();
  made.inode = NewDirectory(*number, kRootInode);
  std::string dirent;
  AppendReferenceDirent(dirent, *number, S_IFDIR);
  std::string next;
  AppendInodeCounter(next, number->Next());
  WriteBatch batch;
  batch.Put(kInodeCounterKey, next);
  batch.Put(NamespaceKey::Dirent(kRootInode, name), dirent);
  Stage(batch, made);
  Status status = co_await StageCounts(batch, kRootInode, 1, 1);
  if (status.ok()) {
    status = co_await Write(batch);
  }
  if (!status.ok()) {
    co_return status.error();
  }
  lost_and_found_ = *number;
  co_return lost_and_found_;
}

Task<Result<std::string>> NamespaceMender::FreeName(InodeNumber directory, InodeNumber inode) {
  for (uint32_t i = 1;; ++i) {
    std::string name = i == 1 ? std::to_string(inode.value) : fmt::format("{}.{}", inode.value, i);
    const Result<std::optional<std::string>> there =
        co_await Read(std::string(NamespaceKey::Dirent(directory, name).view()));
    if (!there.ok()) {
      co_return there.error();
    }
    if (!*there) {
      co_return name;
    }
  }
}

}  // namespace varve
