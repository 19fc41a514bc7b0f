// FileSystem: every operation of a POSIX filesystem over a Store, in plain C++. The FUSE adapter, the tools
// and the tests are its callers.
//
// Nodes. A file is named by its inode number, the root's is kRootInode. A call that returns an Entry counts
// one lookup of that inode; the caller gives the counts back with Forget. While an inode's count is above 0
// (the root's always is) its number may be passed to any call, even after its last name is gone; otherwise
// the answer is kStale. Threads. Every call may be made from any executor, concurrently. A call runs on the
// executor that awaits it. Lifetimes. Names, spans and sinks must outlive the Task; everything else is taken
// by value. Atomicity. An operation that changes something is one atomic batch of the store; what survives a
// crash is a prefix of the operations. Writes above kWriteBytesMax are refused, fallocate and copies of large
// ranges are several batches. Permissions are not checked: the kernel does that (default_permissions). Errors
// are ErrorCodes; fs/ops/errno_map.h maps each to its errno.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/logger.h"
#include "engine/base/result.h"
#include "engine/ring/executor.h"
#include "engine/ring/task.h"
#include "engine/store/store.h"
#include "fs/namespace/inode.h"
#include "fs/ops/recent_files.h"

namespace varve {

class UnfinishedRead;

inline constexpr size_t kNameBytesMax = 255;
inline constexpr size_t kSymlinkBytesMax = 4095;
inline constexpr size_t kXattrNameBytesMax = 255;
inline constexpr size_t kXattrValueBytesMax = 64 * kKiB;
// Of one inode: what listxattr can return at most.
inline constexpr size_t kXattrListBytesMax = 64 * kKiB;
inline constexpr size_t kWriteBytesMax = 1 * kMiB;
inline constexpr uint32_t kLinksMax = 65'000;
// Half of what loff_t can say, so that the sum of an offset and a length never overflows.
inline constexpr uint64_t kFileBytesMax = uint64_t{1} << 62;
inline constexpr uint32_t kBlockBytes = 4096;  // what statfs and st_blksize say

struct Attributes {
  InodeNumber inode;
  uint64_t generation = 0;  // always 0: inode numbers are never reused
  uint32_t mode = 0;
  uint32_t nlink = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t rdev = 0;
  uint64_t size = 0;
  uint64_t blocks = 0;  // of 512 bytes
  int64_t atime_nanos = 0;
  int64_t mtime_nanos = 0;
  int64_t ctime_nanos = 0;
  int64_t btime_nanos = 0;
};

// Who asks. The umask is taken off the modes of what is made, unless the directory has a default access list.
struct Caller {
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t pid = 0;
  uint32_t umask = 0;
};

struct TimeChange {
  bool now = false;   // the filesystem's clock
  int64_t nanos = 0;  // otherwise
};

struct SetAttributes {
  std::optional<uint32_t> mode;  // permission bits (07777)
  std::optional<uint32_t> uid;
  std::optional<uint32_t> gid;
  std::optional<uint64_t> size;
  std::optional<TimeChange> atime;
  std::optional<TimeChange> mtime;
  std::optional<int64_t> ctime_nanos;
  // Clear set-user-id, and set-group-id where the group may execute, as write(2), truncate(2) and chown(2)
  // demand.
  bool kill_suid_sgid = false;
};

struct XattrFlags {
  int of_setxattr = 0;  // XATTR_CREATE, XATTR_REPLACE
  // With an access list: the caller may not keep the set-group-id bit.
  bool kill_sgid = false;
};

struct WriteFlags {
  bool kill_suid_sgid = false;
  bool durable = false;  // O_SYNC, O_DSYNC
};

struct DirectoryEntry {
  std::string_view name;  // valid during Add
  InodeNumber inode;
  uint32_t mode = 0;  // the type bits only (S_IFMT)
  // Passing this to a later call goes on after this entry.
  uint64_t next_offset = 0;
  // ReadDirectoryPlus: what the entry is now, with one lookup counted if Add takes it. nullptr for "." and
  // "..", for names that vanish during the call, and in ReadDirectory.
  const Attributes* attributes = nullptr;
};

class DirectorySink {
 public:
  virtual ~DirectorySink() = default;
  // False: the entry does not fit, and the call ends.
  virtual bool Add(const DirectoryEntry& entry) = 0;
};

using DirectoryHandle = StrongNumber<struct DirectoryHandleTag>;

struct OpenedDirectory {
  DirectoryHandle handle;
  // The caller may keep what the handle shows, with its offsets, and answer from that whoever reads through
  // the handle, from offset 0 on as long as no entry of the directory has changed since it was shown.
  bool may_keep = false;
  // And what it kept of the directory before.
  bool may_keep_earlier = false;
};

struct FileSystemUsage {
  uint64_t blocks = 0;  // of kBlockBytes
  uint64_t blocks_free = 0;
};

// Whether reading a file changes its time of the last access (mount(8)): never, where the file has changed
// since or a day has passed (relatime), always (strictatime). What the kernel's caches answer is not noted:
// it never reaches us.
enum class AccessTimes : uint8_t { kNever, kRelative, kAlways };

struct FileSystemOptions {
  bool read_only = false;
  // Every change is durable when its call ends (mount -o sync).
  bool sync = false;
  // For a store that has no namespace yet.
  FormatParameters format;
  AccessTimes access_times = AccessTimes::kNever;
  bool directory_access_times = true;  // false: nodiratime
  // So many times of accesses are kept apart from the records of small files, and in memory, some 60 bytes
  // each; beyond, all of them are put into the records.
  size_t accesses_noted_max = 64 * 1024;
};

struct FileSystemEnvironment {
  Store& store;
  const Clock& clock;
  Logger& logger;
  // Where the chunks of removed and truncated files are deleted, and directories walked over ahead of their
  // listings. It must run its loop until Unmount has ended.
  Executor& background;
};

struct FileSystemStatistics {
  uint64_t nodes = 0;           // that the kernel remembers
  uint64_t node_bytes = 0;      // what they cost in memory
  uint64_t accesses_noted = 0;  // times that are kept apart from their files (NotedAccesses)
  uint64_t listing_bytes = 0;   // what listings that are kept take of memory (KeptListings)
  uint64_t orphans_waiting = 0;
  uint64_t deletes_reaped = 0;  // records of what files without a name left; a range of chunks is one
};

class DirectoryStream;
class Listing;
class FileSystemCore;

// Writes the root directory and the format record into an empty store. kExists when there is a namespace
// already.
Task<Status> FormatNamespace(Store& store, const Clock& clock, FormatParameters format, uint32_t uid,
                             uint32_t gid);

class FileSystem {
 public:
  // Creates the root on first use. What a crash left to be removed is removed in the background.
  // Errors: kCorruption, kUnsupported, kReadOnly (no namespace, and it may not be made).
  static Task<Result<std::unique_ptr<FileSystem>>> Mount(FileSystemEnvironment environment,
                                                         FileSystemOptions options);
  // Precondition: Unmount has ended.
  ~FileSystem();
  // Ends background work and makes everything durable. No other call may be running or follow. The store
  // stays open.
  Task<Status> Unmount();

  // Names. A name is 1 to kNameBytesMax bytes without '/' and NUL (kInvalidArgument, kNameTooLong).
  // "." and ".." are looked up, and refused everywhere else.
  Task<Result<Attributes>> Lookup(InodeNumber parent, std::string_view name);
  // The same when nothing need be waited for; disengaged (and without effect) otherwise.
  std::optional<Result<Attributes>> TryLookup(InodeNumber parent, std::string_view name);
  // Gives `lookups` back; may start the removal of an unlinked file. Never waits.
  void Forget(InodeNumber inode, uint64_t lookups);

  // A regular file, fifo, socket or device by the type bits of `mode` (none: regular). Counts a lookup, as do
  // the next three.
  Task<Result<Attributes>> MakeNode(InodeNumber parent, std::string_view name, uint32_t mode, uint32_t rdev,
                                    Caller caller);
  Task<Result<Attributes>> MakeDirectory(InodeNumber parent, std::string_view name, uint32_t mode,
                                         Caller caller);
  Task<Result<Attributes>> MakeSymlink(InodeNumber parent, std::string_view name, std::string_view target,
                                       Caller caller);
  // kPermission for a directory, kTooManyLinks beyond kLinksMax.
  Task<Result<Attributes>> Link(InodeNumber inode, InodeNumber parent, std::string_view name);
  // Gives a file that has none the name, in place of whatever file had it.
  Task<Status> Replace(InodeNumber inode, InodeNumber parent, std::string_view name);
  // A file without a name (O_TMPFILE), which Link may give one. Counts a lookup.
  Task<Result<Attributes>> MakeTemporary(InodeNumber parent, uint32_t mode, Caller caller);
  Task<Status> Unlink(InodeNumber parent, std::string_view name);
  Task<Status> RemoveDirectory(InodeNumber parent, std::string_view name);
  // `flags` are those of renameat2(2): RENAME_NOREPLACE, RENAME_EXCHANGE; others are kInvalidArgument.
  Task<Status> Rename(InodeNumber parent, std::string_view name, InodeNumber new_parent,
                      std::string_view new_name, uint32_t flags);
  Task<Result<std::string>> ReadSymlink(InodeNumber inode);

  Task<Result<Attributes>> GetAttributes(InodeNumber inode);
  std::optional<Result<Attributes>> TryGetAttributes(InodeNumber inode);
  Task<Result<Attributes>> ChangeAttributes(InodeNumber inode, SetAttributes changes);

  // Bytes read: fewer than asked only at the end of the file. One atomic view of the file.
  Task<Result<size_t>> Read(InodeNumber inode, uint64_t offset, std::span<char> into);
  // The same where memory has the bytes. Else `rest` may become the read as it stands: finishing it costs
  // less than Read, which is to be called where it stays empty. It is gone before Unmount is called. With
  // `recent`, the caller's, files in chunks are known from one read to the next: of such a file the kernel
  // has to remember the node, which is not looked for again.
  std::optional<Result<size_t>> BeginRead(InodeNumber inode, uint64_t offset, std::span<char> into,
                                          std::unique_ptr<UnfinishedRead>& rest,
                                          RecentFiles* recent = nullptr);
  // All of `data` (at most kWriteBytesMax) or nothing.
  Task<Result<size_t>> Write(InodeNumber inode, uint64_t offset, std::string_view data, WriteFlags flags);
  // `mode` is that of fallocate(2): 0, KEEP_SIZE, PUNCH_HOLE | KEEP_SIZE, ZERO_RANGE [| KEEP_SIZE]; others
  // are kUnsupported. Nothing is reserved: a later write may still find the device full.
  Task<Status> Allocate(InodeNumber inode, int mode, uint64_t offset, uint64_t length);
  // SEEK_DATA and SEEK_HOLE at chunk grain. kNoData beyond the last byte.
  Task<Result<uint64_t>> Seek(InodeNumber inode, uint64_t offset, int whence);
  // Bytes copied, possibly fewer than `length`.
  Task<Result<size_t>> CopyRange(InodeNumber from, uint64_t from_offset, InodeNumber to, uint64_t to_offset,
                                 size_t length, WriteFlags flags);

  // Makes everything durable that was done before, whatever file it concerned.
  Task<Status> Sync();

  // Directory streams, in name order. Offset 0 begins anew, with the directory as it is then. Each call goes
  // on behind the name of its offset: what is there all the time is seen once, and between calls a stream
  // keeps nothing in the store from being freed. An offset means something to the handle that gave it out,
  // until offset 0 is read again. One call at a time a handle.
  Task<Result<OpenedDirectory>> OpenDirectory(InodeNumber inode);
  Task<Status> ReadDirectory(DirectoryHandle handle, uint64_t offset, DirectorySink& sink);
  Task<Status> ReadDirectoryPlus(DirectoryHandle handle, uint64_t offset, DirectorySink& sink);
  void ReleaseDirectory(DirectoryHandle handle);

  // Extended attributes. kNoAttribute when absent. Of the names that begin with "system." there are only the
  // two lists of posix_acl.h; the others are kUnsupported. An access list and the mode are kept in step: to
  // set the list sets the mode, and chmod changes the list. What is made in a directory gets its lists from
  // the default list of that.
  Task<Result<std::string>> GetXattr(InodeNumber inode, std::string_view name);
  Task<Status> SetXattr(InodeNumber inode, std::string_view name, std::string_view value, XattrFlags flags);
  // Each name followed by a NUL.
  Task<Result<std::string>> ListXattrs(InodeNumber inode);
  Task<Status> RemoveXattr(InodeNumber inode, std::string_view name);

  FileSystemUsage Usage() const;
  FileSystemStatistics Statistics() const;
  // Waits until no removal is due in the background. For tests and tools.
  Task<Status> FinishRemovals();

 private:
  explicit FileSystem(std::unique_ptr<FileSystemCore> core);
  Task<Status> List(DirectoryHandle handle, uint64_t offset, DirectorySink& sink, bool plus);
  // nullptr: none is kept of the directory at that version, or too many directories are open.
  std::shared_ptr<Listing> KnownListing(InodeNumber directory, uint64_t version);
  // Offset 0 of a stream.
  Task<void> BeginPass(DirectoryStream& stream);
  // `version`: that of the directory before the stream was moved to where it stands.
  Task<Status> ListStream(DirectoryStream& stream, DirectorySink& sink, bool plus, uint64_t version);
  // Lets the background walk on from `offset`, before it is asked for.
  Task<void> OfferWalk(std::shared_ptr<DirectoryStream> stream, uint64_t offset);
  Task<void> WalkAhead(std::shared_ptr<DirectoryStream> stream);
  // A lookup of the entry on which the stream stands, whose value is whole.
  Task<Result<Attributes>> LookupListed(DirectoryStream& stream, uint64_t version);
  // Nothing: the directory has changed since `version`.
  std::optional<Result<Attributes>> TryAcquireEmbedded(InodeNumber parent, std::string_view name,
                                                       const Inode& inode, uint64_t version);
  Task<Result<size_t>> ReadBytes(InodeNumber inode, uint64_t offset, std::span<char> into,
                                 bool& access_is_due);

  std::unique_ptr<FileSystemCore> core_;
};

}  // namespace varve
