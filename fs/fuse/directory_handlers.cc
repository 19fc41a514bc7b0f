// Requests that concern open directories.
#include <algorithm>
#include <cstring>

#include "fs/fuse/handlers.h"
#include "fs/fuse/replies.h"

namespace varve {

namespace {

// Of a reply with attributes: for each entry of it the kernel makes a node, which takes it several
// microseconds, and the first request of a listing asks for them whether they are wanted or not.
constexpr size_t kPlusBytesMax = 16 * 1024;

// Packs entries into the bytes of one reply.
class ReplyPacker final : public DirectorySink {
 public:
  ReplyPacker(fuse_req_t request, std::span<char> into, bool plus)
      : request_(request), into_(into), plus_(plus) {}

  bool Add(const DirectoryEntry& entry) override {
    const std::span<char> rest = into_.subspan(used_);
    const size_t needed = plus_ ? AddPlus(rest, entry) : AddPlain(rest, entry);
    if (needed > rest.size()) {
      return false;
    }
    used_ += needed;
    return true;
  }

  std::span<const char> packed() const { return into_.first(used_); }

 private:
  // As fuse_add_direntry does, for names that do not end with a NUL: most of a listing is this.
  static size_t AddPlain(std::span<char> rest, const DirectoryEntry& entry) {
    const size_t length = std::min(entry.name.size(), kNameBytesMax);
    const size_t needed = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + length);
    if (needed <= rest.size()) {
      const fuse_dirent head = {.ino = entry.inode.value,
                                .off = entry.next_offset,
                                .namelen = static_cast<uint32_t>(length),
                                .type = (entry.mode & S_IFMT) >> 12};
      // What follows the name, up to the next entry, is zero.
      std::memset(rest.data() + needed - sizeof(uint64_t), 0, sizeof(uint64_t));
      std::memcpy(rest.data(), &head, FUSE_NAME_OFFSET);
      std::memcpy(rest.data() + FUSE_NAME_OFFSET, entry.name.data(), length);
    }
    return needed;
  }

  size_t AddPlus(std::span<char> rest, const DirectoryEntry& entry) const {
    char name[kNameBytesMax + 1];
    const size_t length = std::min(entry.name.size(), kNameBytesMax);
    std::memcpy(name, entry.name.data(), length);
    name[length] = '\0';
    fuse_entry_param param = {};
    if (entry.attributes != nullptr) {
      param = EntryOf(*entry.attributes);
    } else {
      // Node 0: the kernel takes the name and the type, and counts no lookup.
      param.attr.st_ino = entry.inode.value;
      param.attr.st_mode = entry.mode;
    }
    return fuse_add_direntry_plus(request_, rest.data(), rest.size(), name, &param,
                                  static_cast<off_t>(entry.next_offset));
  }

  fuse_req_t request_;
  std::span<char> into_;
  bool plus_;
  size_t used_ = 0;
};

Task<void> AnswerOpen(fuse_req_t request, InodeNumber inode) {
  Channel& channel = ChannelOf(request);
  const RequestUnderWay under_way(channel);
  const Result<OpenedDirectory> opened = co_await channel.filesystem().OpenDirectory(inode);
  if (!opened.ok()) {
    ReplyStatus(request, opened.error());
    co_return;
  }
  fuse_file_info file = {};
  file.fh = opened->handle.value;
  file.cache_readdir = opened->may_keep;
  file.keep_cache = opened->may_keep_earlier;
  if (fuse_reply_open(request, &file) != 0) {
    channel.filesystem().ReleaseDirectory(opened->handle);
  }
}

void OpenDirectory(fuse_req_t request, fuse_ino_t inode, fuse_file_info*) {
  Spawn(AnswerOpen(request, InodeNumber(inode)));
}

Task<void> AnswerRead(fuse_req_t request, DirectoryHandle handle, uint64_t offset, size_t bytes, bool plus) {
  Channel& channel = ChannelOf(request);
  FileSystem& fs = channel.filesystem();
  const RequestUnderWay under_way(channel);
  const AnswerRoom into = channel.TakeAnswerRoom(plus ? std::min(bytes, kPlusBytesMax) : bytes);
  ReplyPacker packer(request, into.bytes, plus);
  Task<Status> operation =
      plus ? fs.ReadDirectoryPlus(handle, offset, packer) : fs.ReadDirectory(handle, offset, packer);
  const Status status = co_await std::move(operation);
  // What fitted before an error is answered; the error comes again with the next request.
  if (!status.ok() && packer.packed().empty()) {
    ReplyStatus(request, status);
    co_return;
  }
  fuse_reply_buf(request, packer.packed().data(), packer.packed().size());
}

void ReadDirectory(fuse_req_t request, fuse_ino_t, size_t size, off_t offset, fuse_file_info* file) {
  Spawn(AnswerRead(request, DirectoryHandle(file->fh), static_cast<uint64_t>(offset), size, false));
}

void ReadDirectoryPlus(fuse_req_t request, fuse_ino_t, size_t size, off_t offset, fuse_file_info* file) {
  Spawn(AnswerRead(request, DirectoryHandle(file->fh), static_cast<uint64_t>(offset), size, true));
}

void ReleaseDirectory(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
  ChannelOf(request).filesystem().ReleaseDirectory(DirectoryHandle(file->fh));
  fuse_reply_err(request, 0);
}

void SyncDirectory(fuse_req_t request, fuse_ino_t, int, fuse_file_info*) {
  Spawn(AnswerStatus(request, ChannelOf(request).filesystem().Sync()));
}

}  // namespace

void AddDirectoryHandlers(fuse_lowlevel_ops& operations) {
  operations.opendir = OpenDirectory;
  operations.readdir = ReadDirectory;
  operations.readdirplus = ReadDirectoryPlus;
  operations.releasedir = ReleaseDirectory;
  operations.fsyncdir = SyncDirectory;
}

}  // namespace varve
