#include "engine/device/uring_device.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <liburing.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/device/aligned_buffer.h"
#include "engine/device/device_holder.h"
#include "engine/device/device_lock.h"
#include "engine/device/loop_backing.h"
#include "engine/ring/reactor.h"
#include "engine/ring/when_all.h"

namespace varve {

namespace {

// Longer transfers go as several requests side by side: each then is one bio of the block layer, and the
// kernel's own splitting, which submits the pieces one by one, is not needed.
constexpr size_t kPieceBytes = 1 * kMiB;
// Of one transfer in flight.
constexpr size_t kPiecesInFlight = 8;
// EAGAIN is a passing shortage; a device that says nothing else for so long is given up.
constexpr int kRetriesMax = 1000;
constexpr uint64_t kRetryPauseNanos = 1'000'000;

// BLOCK_URING_CMD_DISCARD of linux/blkdev.h (6.12), which these headers lack: the only discard that the ring
// does without a worker thread. Where it is missing, a hole is punched; on a block device the kernel takes
// that for a discard that reads back as zeros, which fewer devices offer.
constexpr uint64_t kDiscardCommand = _IO(0x12, 0);

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) {
      close(fd_);
    }
  }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

struct Opened {
  // Carries the lock as well, on either kind: a request in flight keeps it.
  FileDescriptor data;
  // Holds the O_EXCL claim on a block device; the claim ends with it.
  FileDescriptor claim;
  // The image under a loop device, locked, so that nobody opens it by its own name.
  FileDescriptor backing;
  bool is_block_device = false;
  uint64_t size_bytes = 0;
  uint32_t sector_bytes = 0;
};

class UringDevice final : public ClaimedDevice {
 public:
  UringDevice(const std::string& path, const UringDeviceOptions& options, Opened opened)
      : ClaimedDevice(path, opened.size_bytes, opened.sector_bytes),
        options_(options),
        is_block_device_(opened.is_block_device),
        data_(std::move(opened.data)),
        claim_(std::move(opened.claim)),
        backing_(std::move(opened.backing)) {}

  Status ReleaseClaim() override {
    Check(options_.claim == DeviceClaim::kExclusiveUntilMount, "a claim was released that was to be kept");
    claim_ = FileDescriptor();
    return OkStatus();
  }
  bool is_block_device() const override { return is_block_device_; }

 private:
  enum class Direction { kRead, kWrite };
  struct Transfer {
    Direction direction;
    std::byte* memory;
    uint64_t bytes;
    uint64_t offset;
    uint32_t flags;
  };

  Task<Status> DoRead(DeviceOffset offset, std::span<std::byte> into) override {
    return Run({Direction::kRead, into.data(), into.size(), offset.value, 0});
  }
  Task<Status> DoWrite(DeviceOffset offset, std::span<const std::byte> from,
                       Persistence persistence) override {
    const uint32_t flags = persistence == Persistence::kDurable ? RWF_DSYNC : 0;
    return Run({Direction::kWrite, const_cast<std::byte*>(from.data()), from.size(), offset.value, flags});
  }
  Task<Status> DoFlush() override;
  Task<Status> DoDiscard(DeviceOffset offset, uint64_t bytes) override;

  Task<Status> Run(Transfer transfer) {
    return transfer.bytes <= kPieceBytes ? RunPiece(transfer) : RunPieces(transfer);
  }
  // Continues short transfers, retries interrupted ones.
  Task<Status> RunPiece(Transfer piece);
  Task<Status> RunPieces(Transfer transfer);
  struct Cursor {
    Transfer rest;
    Status status;
  };
  Task<Status> RunPiecesInTurn(Cursor& cursor);
  static Reactor& CurrentReactor() {
    Reactor* reactor = Reactor::CurrentOrNull();
    Check(reactor != nullptr, "this device works only on a reactor");
    return *reactor;
  }
  Error Failed(std::string_view operation, uint64_t offset, uint64_t bytes, int error) const;

  const UringDeviceOptions options_;
  const bool is_block_device_;
  FileDescriptor data_;
  FileDescriptor claim_;
  FileDescriptor backing_;
  // Set once the kernel has said so.
  std::atomic<bool> lacks_discard_command_{false};
  std::atomic<bool> cannot_discard_{false};
};

Error UringDevice::Failed(std::string_view operation, uint64_t offset, uint64_t bytes, int error) const {
  return DeviceError(
      fmt::format("{}: {} of {} bytes at offset {}: {}", name(), operation, bytes, offset, strerror(error)));
}

Task<Status> UringDevice::RunPiece(Transfer piece) {
  const bool reads = piece.direction == Direction::kRead;
  Reactor& reactor = CurrentReactor();
  int retries = 0;
  while (piece.bytes > 0) {
    const auto bytes = static_cast<uint32_t>(piece.bytes);
    int32_t result;
    if (reads) {
      result = co_await reactor.Read(data_.get(), piece.memory, bytes, piece.offset, piece.flags);
    } else {
      result = co_await reactor.Write(data_.get(), piece.memory, bytes, piece.offset, piece.flags);
    }
    if (result > 0) {
      // What remains of a short transfer is aligned: direct I/O moves whole sectors.
      piece.memory += result;
      piece.offset += static_cast<uint64_t>(result);
      piece.bytes -= static_cast<uint64_t>(result);
      continue;
    }
    const bool passing = result == -EINTR || result == -EAGAIN;
    if (!passing || ++retries > kRetriesMax) {
      // Nothing at all and no error is the end of a file that has shrunk.
      co_return Failed(reads ? "read" : "write", piece.offset, piece.bytes, result == 0 ? ENXIO : -result);
    }
    if (result == -EAGAIN) {
      co_await reactor.Sleep(kRetryPauseNanos);
    }
  }
  co_return OkStatus();
}

Task<Status> UringDevice::RunPiecesInTurn(Cursor& cursor) {
  while (cursor.rest.bytes > 0 && cursor.status.ok()) {
    Transfer piece = cursor.rest;
    piece.bytes = std::min<uint64_t>(piece.bytes, kPieceBytes);
    cursor.rest.memory += piece.bytes;
    cursor.rest.offset += piece.bytes;
    cursor.rest.bytes -= piece.bytes;
    Status status = co_await RunPiece(piece);
    if (!status.ok()) {
      cursor.status = std::move(status);
    }
  }
  co_return OkStatus();
}

Task<Status> UringDevice::RunPieces(Transfer transfer) {
  Cursor cursor{transfer, {}};
  std::vector<Task<Status>> lanes;
  const size_t pieces = CeilDiv(transfer.bytes, kPieceBytes);
  for (size_t i = 0; i < std::min(pieces, kPiecesInFlight); ++i) {
    lanes.push_back(RunPiecesInTurn(cursor));
  }
  co_await WhenAll(std::move(lanes));
  co_return std::move(cursor.status);
}

Task<Status> UringDevice::DoFlush() {
  Reactor& reactor = CurrentReactor();
  int32_t result = -EINTR;
  while (result == -EINTR) {
    result = co_await reactor.DataSync(data_.get());
  }
  if (result < 0) {
    co_return DeviceError(fmt::format("{}: flush: {}", name(), strerror(-result)));
  }
  co_return OkStatus();
}

Task<Status> UringDevice::DoDiscard(DeviceOffset offset, uint64_t bytes) {
  Reactor& reactor = CurrentReactor();
  if (is_block_device_ && !lacks_discard_command_.load(std::memory_order_relaxed)) {
    const IoAwaiter::Request discard{.opcode = IORING_OP_URING_CMD,
                                     .fd = data_.get(),
                                     .address = reinterpret_cast<const void*>(offset.value),
                                     .offset = kDiscardCommand,
                                     .address3 = bytes};
    const int32_t result = co_await reactor.Submit(discard);
    if (result >= 0) {
      co_return OkStatus();
    }
    lacks_discard_command_.store(true, std::memory_order_relaxed);
  }
  if (cannot_discard_.load(std::memory_order_relaxed)) {
    co_return OkStatus();
  }
  int32_t result = -EINTR;
  while (result == -EINTR) {
    result = co_await reactor.Fallocate(data_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset.value,
                                        bytes);
  }
  if (result == -EOPNOTSUPP || result == -ENOTTY) {
    cannot_discard_.store(true, std::memory_order_relaxed);
    co_return OkStatus();
  }
  if (result < 0) {
    co_return Failed("discard", offset.value, bytes, -result);
  }
  co_return OkStatus();
}

Error OpenFailed(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
      return NotFound(path + ": no such device or file");
    case EACCES:
    case EPERM:
      return {ErrorCode::kAccess, path + ": permission denied"};
    case EROFS:
      return ReadOnly(path + ": write-protected; it can be opened read-only (-o ro)");
    case EINVAL:
      return Unsupported(
          path +
          ": direct I/O (O_DIRECT) is refused here; keep the image on another filesystem (ext4, xfs, "
          "btrfs), or use a block device");
    default:
      return DeviceError(path + ": " + strerror(error));
  }
}

Error InUse(const std::string& path, const struct stat& found) {
  const std::string holder = DescribeHolder(found);
  return Busy(fmt::format("{} is in use: {}; unmount it or end that process first", path,
                          holder.empty() ? "something holds it exclusively" : holder));
}

Result<uint64_t> BlockDeviceBytes(const std::string& path, int fd, uint32_t& sector_bytes) {
  uint64_t bytes = 0;
  int sector = 0;
  if (ioctl(fd, BLKGETSIZE64, &bytes) != 0 || ioctl(fd, BLKSSZGET, &sector) != 0) {
    return DeviceError(fmt::format("{}: its size cannot be read: {}", path, strerror(errno)));
  }
  sector_bytes = static_cast<uint32_t>(sector);
  return bytes;
}

// The grain at which the filesystem lets this file be read and written directly; 0 when it does not.
uint32_t FileSectorBytes(int fd) {
  struct statx attributes {};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &attributes) == 0 &&
      (attributes.stx_mask & STATX_DIOALIGN) != 0) {
    return attributes.stx_dio_offset_align == 0 ? 0
                                                : std::max<uint32_t>(512, attributes.stx_dio_offset_align);
  }
  // A kernel before 6.1, or a filesystem that does not say: try.
  AlignedBuffer buffer(4096);
  for (const uint32_t sector : {512u, 4096u}) {
    if (pread(fd, buffer.data(), sector, 0) >= 0) {
      return sector;
    }
  }
  return 0;
}

// A process that was killed lets go of its files only when the kernel has taken its ring down, some time
// after the process is gone: while nobody is seen to hold a lock on `found`, it is worth waiting. Blocks.
template <typename Claim>
bool ClaimInTime(const struct stat& found, const Claim& claim) {
  constexpr int kTries = 40;
  constexpr useconds_t kPauseMicros = 50'000;
  for (int i = 0; i < kTries && !claim(); ++i) {
    if (i + 1 == kTries || LockHolderOf(found) != 0) {
      return false;
    }
    usleep(kPauseMicros);
  }
  return true;
}

// A lock of the open file, not of the process: it passes to a child that goes on as the daemon.
bool Lock(const FileDescriptor& file, const struct stat& found) {
  return ClaimInTime(found,
                     [&] { return flock(file.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; });
}

Status LockDevice(const std::string& path, const struct stat& found, bool read_only, const Opened& opened) {
  int error = 0;
  if (!ClaimInTime(found, [&] {
        error = TryLockBlockDevice(opened.data.get(), read_only);
        return error != EAGAIN;
      })) {
    return InUse(path, found);
  }
  return error == 0 ? OkStatus()
                    : Status(DeviceError(fmt::format("{}: it cannot be locked: {}", path, strerror(error))));
}

// The lock comes first: who is refused by it must not have been in the way of the holder's mount.
Status ClaimBlockDevice(const std::string& path, const struct stat& found, int flags, bool read_only,
                        Opened& opened) {
  if (Status locked = LockDevice(path, found, read_only, opened); !locked.ok()) {
    return locked;
  }
  opened.claim = FileDescriptor(open(path.c_str(), flags | O_EXCL));
  if (!opened.claim.is_open()) {
    return errno == EBUSY ? InUse(path, found) : OpenFailed(path, errno);
  }
  const std::string image = BackingFileOf(found);
  if (image.empty()) {
    return OkStatus();
  }
  opened.backing = FileDescriptor(open(image.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat image_found {};
  if (opened.backing.is_open() && fstat(opened.backing.get(), &image_found) == 0 &&
      !Lock(opened.backing, image_found)) {
    return InUse(image, image_found);
  }
  return OkStatus();
}

Status ClaimFile(const std::string& path, const struct stat& found, const Opened& opened) {
  const std::string loop = LoopDeviceOver(found);
  if (!loop.empty()) {
    return Busy(
        fmt::format("{} is attached to {}: use that, or detach it (losetup -d {})", path, loop, loop));
  }
  return Lock(opened.data, found) ? OkStatus() : Status(InUse(path, found));
}

// By the kernel's own node where that opens, so that all who open the device meet at one lock.
FileDescriptor OpenNode(const std::string& path, const struct stat& found, int flags) {
  const std::string node = S_ISBLK(found.st_mode) ? KernelNodeOf(found) : std::string();
  FileDescriptor opened(node.empty() ? -1 : open(node.c_str(), flags));
  return opened.is_open() ? std::move(opened) : FileDescriptor(open(path.c_str(), flags));
}

bool IsWriteProtected(const std::string& path) {
  const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  int write_protected = 0;
  return fd.is_open() && ioctl(fd.get(), BLKROGET, &write_protected) == 0 && write_protected != 0;
}

Result<Opened> Open(const std::string& path, const UringDeviceOptions& options) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) {
    return OpenFailed(path, errno);
  }
  if (!S_ISBLK(found.st_mode) && !S_ISREG(found.st_mode)) {
    return InvalidArgument(path + ": neither a block device nor a file");
  }
  Opened opened;
  opened.is_block_device = S_ISBLK(found.st_mode);
  const int flags = (options.read_only ? O_RDONLY : O_RDWR) | O_DIRECT | O_CLOEXEC;
  opened.data = OpenNode(path, found, flags);
  if (!opened.data.is_open()) {
    const int error = errno;
    const bool write_protected = opened.is_block_device && error == EACCES && IsWriteProtected(path);
    return OpenFailed(path, write_protected ? EROFS : error);
  }
  if (options.claim != DeviceClaim::kNone) {
    Status claimed = opened.is_block_device ? ClaimBlockDevice(path, found, flags, options.read_only, opened)
                                            : ClaimFile(path, found, opened);
    if (!claimed.ok()) {
      return claimed.error();
    }
  }
  // Again, because the path may have been replaced, and what is open is what counts.
  if (fstat(opened.data.get(), &found) != 0) {
    return OpenFailed(path, errno);
  }
  if (opened.is_block_device) {
    Result<uint64_t> bytes = BlockDeviceBytes(path, opened.data.get(), opened.sector_bytes);
    if (!bytes.ok()) {
      return bytes.error();
    }
    opened.size_bytes = *bytes;
  } else {
    opened.size_bytes = static_cast<uint64_t>(found.st_size);
    opened.sector_bytes = FileSectorBytes(opened.data.get());
    if (opened.sector_bytes == 0) {
      return OpenFailed(path, EINVAL);
    }
  }
  if (opened.sector_bytes > 4096 || !std::has_single_bit(opened.sector_bytes)) {
    return InvalidArgument(fmt::format("{}: sectors of {} bytes are not supported (512 to 4096 are)", path,
                                       opened.sector_bytes));
  }
  return opened;
}

}  // namespace

Result<std::unique_ptr<ClaimedDevice>> OpenUringDevice(const std::string& path,
                                                       const UringDeviceOptions& options) {
  Check(options.read_only || options.claim != DeviceClaim::kNone, "writing needs a claim");
  Result<Opened> opened = Open(path, options);
  if (!opened.ok()) {
    return opened.error();
  }
  return std::unique_ptr<ClaimedDevice>(std::make_unique<UringDevice>(path, options, std::move(*opened)));
}

}  // namespace varve
