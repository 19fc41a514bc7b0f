// opendir, readdir, readdirplus, releasedir.
#include <utility>

#include "fs/namespace/namespace_format.h"
#include "fs/ops/access_times.h"
#include "fs/ops/filesystem.h"
#include "fs/ops/filesystem_core.h"

namespace varve {

namespace {

// Offsets 1 and 2 follow "." and ".."; offset n + 2 follows n entries that the stream has passed.
constexpr uint64_t kDots = 2;

Task<Status> AddDots(FileSystemCore& core, InodeNumber directory, uint64_t offset, DirectorySink& sink,
                     bool& full) {
  Result<LoadedInode> loaded = co_await core.Load(directory);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  for (uint64_t i = offset; i < kDots && !full; ++i) {
    DirectoryEntry entry;
    entry.name = i == 0 ? "." : "..";
    entry.inode = i == 0 ? directory : loaded->inode().parent;
    entry.mode = S_IFDIR;
    entry.next_offset = i + 1;
    full = !sink.Add(entry);
  }
  co_return Status();
}

}  // namespace

Task<Result<DirectoryHandle>> FileSystem::OpenDirectory(InodeNumber inode) {
  Result<LoadedInode> loaded = co_await core_->Load(inode);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  if (!loaded->inode().is_directory()) {
    co_return Error(ErrorCode::kNotDirectory, "not a directory");
  }
  co_return core_->streams.Add(std::make_shared<DirectoryStream>(core_->store, inode));
}

Task<Status> FileSystem::List(DirectoryHandle handle, uint64_t offset, DirectorySink& sink, bool plus) {
  const std::shared_ptr<DirectoryStream> stream = core_->streams.Find(handle);
  if (stream == nullptr) {
    co_return Error(ErrorCode::kStale, "no such open directory");
  }
  if (offset == 0) {
    stream->Restart();
    const std::optional<Result<LoadedInode>> directory = core_->TryLoad(stream->inode());
    if (directory && directory->ok() && AccessIsDue(*core_, (*directory)->inode())) {
      co_await NoteAccess(*core_, stream->inode());
    }
  }
  bool full = false;
  if (offset < kDots) {
    Status added = co_await AddDots(*core_, stream->inode(), offset, sink, full);
    if (!added.ok() || full) {
      co_return added;
    }
  }
  const uint64_t version = core_->locks.Version(stream->inode());
  Status listed = co_await stream->MoveTo(offset < kDots ? 0 : offset - kDots, plus);
  if (listed.ok()) {
    listed = co_await ListStream(*stream, sink, plus, version);
  }
  co_await stream->Rest();
  co_return listed;
}

Task<Result<Attributes>> FileSystem::LookupListed(DirectoryStream& stream, uint64_t version) {
  const Result<DirentRecord> dirent = DecodeDirent(stream.value());
  // Of a file that the kernel knows, a request may have changed the attributes since the walk began, and been
  // answered: the kernel must not get those of before.
  if (dirent.ok() && dirent->embedded && !core_->nodes.Contains(dirent->embedded->inode.number)) {
    std::optional<Result<Attributes>> found =
        TryAcquireEmbedded(stream.inode(), stream.name(), dirent->embedded->inode, version);
    if (found) {
      co_return std::move(*found);
    }
  }
  co_return co_await Lookup(stream.inode(), stream.name());
}

Task<Status> FileSystem::ListStream(DirectoryStream& stream, DirectorySink& sink, bool plus,
                                    uint64_t version) {
  while (stream.Valid()) {
    const Result<DirentSummary> dirent = DecodeDirentSummary(stream.value());
    if (!dirent.ok()) {
      co_return dirent.error();
    }
    DirectoryEntry entry;
    entry.name = stream.name();
    entry.inode = dirent->inode;
    entry.mode = dirent->type;
    entry.next_offset = stream.passed() + kDots + 1;
    Attributes attributes;
    if (plus) {
      Result<Attributes> found = co_await LookupListed(stream, version);
      if (found.ok()) {
        attributes = *found;
        entry.inode = attributes.inode;
        entry.mode = attributes.mode & S_IFMT;
        entry.attributes = &attributes;
      }
    }
    if (!sink.Add(entry)) {
      if (entry.attributes != nullptr) {
        core_->Forget(attributes.inode, 1);
      }
      co_return Status();
    }
    if (stream.Next() == Step::kNeedsIo) {
      co_await stream.Load();
    }
  }
  co_return stream.status();
}

Task<Status> FileSystem::ReadDirectory(DirectoryHandle handle, uint64_t offset, DirectorySink& sink) {
  co_return co_await List(handle, offset, sink, false);
}

Task<Status> FileSystem::ReadDirectoryPlus(DirectoryHandle handle, uint64_t offset, DirectorySink& sink) {
  co_return co_await List(handle, offset, sink, true);
}

void FileSystem::ReleaseDirectory(DirectoryHandle handle) {
  core_->streams.Remove(handle);
}

}  // namespace varve
