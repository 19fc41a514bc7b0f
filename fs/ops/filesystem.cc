// Mounting, unmounting, and what concerns no single file.
#include "fs/ops/filesystem.h"

#include <utility>

#include "fs/ops/filesystem_core.h"

namespace varve {

namespace {

struct StoredNamespace {
  bool exists = false;
  FormatParameters format;
  InodeNumber next_inode;
};

Task<Result<StoredNamespace>> ReadNamespace(Store& store) {
  StoredNamespace stored;
  Store::Lookup format = co_await store.Get(kFormatKey, ReadOptions());
  if (!format.ok()) {
    co_return format.error();
  }
  if (!*format) {
    co_return stored;
  }
  const Result<FormatParameters> parameters = DecodeFormat((*format)->bytes());
  if (!parameters.ok()) {
    co_return parameters.error();
  }
  Store::Lookup counter = co_await store.Get(kInodeCounterKey, ReadOptions());
  if (!counter.ok()) {
    co_return counter.error();
  }
  if (!*counter) {
    co_return Corruption("the counter of inode numbers is missing");
  }
  const Result<InodeNumber> next = DecodeInodeCounter((*counter)->bytes());
  if (!next.ok()) {
    co_return next.error();
  }
  stored.exists = true;
  stored.format = *parameters;
  stored.next_inode = *next;
  co_return stored;
}

}  // namespace

Task<Status> FormatNamespace(Store& store, const Clock& clock, FormatParameters format, uint32_t uid,
                             uint32_t gid) {
  Status valid = ValidateFormat(format);
  if (!valid.ok()) {
    co_return valid;
  }
  Result<StoredNamespace> stored = co_await ReadNamespace(store);
  if (!stored.ok()) {
    co_return stored.error();
  }
  if (stored->exists) {
    co_return Error(ErrorCode::kExists, "the store holds a filesystem already");
  }
  Inode root;
  root.number = kRootInode;
  root.parent = kRootInode;
  root.mode = S_IFDIR | 0755;
  root.uid = uid;
  root.gid = gid;
  root.mtime_nanos = clock.WallNanos();
  root.atime_nanos = root.ctime_nanos = root.btime_nanos = root.mtime_nanos;
  std::string root_value;
  AppendInode(root_value, root, {});
  std::string counter_value;
  AppendInodeCounter(counter_value, kRootInode.Next());
  std::string format_value;
  AppendFormat(format_value, format);
  const NamespaceKey root_key = NamespaceKey::OfInode(kRootInode);
  WriteBatch batch;
  batch.Put(root_key, root_value);
  batch.Put(kInodeCounterKey, counter_value);
  batch.Put(kFormatKey, format_value);
  co_return co_await store.Write(batch, Durability::kDurable);
}

FileSystem::FileSystem(std::unique_ptr<FileSystemCore> core) : core_(std::move(core)) {
}

FileSystem::~FileSystem() = default;

Task<Result<std::unique_ptr<FileSystem>>> FileSystem::Mount(FileSystemEnvironment environment,
                                                            FileSystemOptions options) {
  Result<StoredNamespace> stored = co_await ReadNamespace(environment.store);
  if (!stored.ok()) {
    co_return stored.error();
  }
  if (!stored->exists) {
    if (options.read_only) {
      co_return ReadOnly("the store holds no filesystem yet, and none may be made");
    }
    Status made = co_await FormatNamespace(environment.store, environment.clock, options.format, 0, 0);
    if (!made.ok()) {
      co_return made.error();
    }
    Result<StoredNamespace> again = co_await ReadNamespace(environment.store);
    if (!again.ok()) {
      co_return again.error();
    }
    stored = std::move(again);
  }
  auto core = std::make_unique<FileSystemCore>(environment, options, stored->format, stored->next_inode);
  Result<LoadedInode> root = co_await core->LoadRecord(kRootInode);
  if (!root.ok()) {
    co_return root.error();
  }
  if (!root->inode().is_directory()) {
    co_return Corruption("the root is not a directory");
  }
  Status recovered = co_await core->reaper.Recover(!options.read_only);
  if (!recovered.ok()) {
    co_await core->reaper.Stop();
    co_return recovered.error();
  }
  co_await core->accesses.Load(environment.store, environment.logger);
  co_return std::unique_ptr<FileSystem>(new FileSystem(std::move(core)));
}

Task<Status> FileSystem::Unmount() {
  co_await core_->accesses.Stop();
  co_await core_->reaper.Stop();
  co_await core_->streams.Close();
  if (core_->options.read_only) {
    co_return Status();
  }
  co_return co_await core_->store.Sync();
}

Task<Status> FileSystem::Sync() {
  if (core_->options.read_only) {
    co_return Status();
  }
  co_return co_await core_->store.Sync();
}

void FileSystem::Forget(InodeNumber inode, uint64_t lookups) {
  core_->Forget(inode, lookups);
}

FileSystemUsage FileSystem::Usage() const {
  const SpaceUsage usage = core_->store.space_usage();
  return {usage.usable_bytes / kBlockBytes, usage.free_bytes() / kBlockBytes};
}

FileSystemStatistics FileSystem::Statistics() const {
  FileSystemStatistics statistics;
  statistics.nodes = core_->nodes.size();
  statistics.node_bytes = core_->nodes.memory_bytes();
  statistics.accesses_noted = core_->accesses.size();
  statistics.listing_bytes = core_->listings.bytes();
  statistics.orphans_waiting = core_->reaper.waiting();
  statistics.deletes_reaped = core_->reaper.deletes_written();
  return statistics;
}

Task<Status> FileSystem::FinishRemovals() {
  co_return co_await core_->reaper.Finish();
}

}  // namespace varve
