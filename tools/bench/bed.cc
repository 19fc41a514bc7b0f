#include "tools/bench/bed.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/fs.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/prng.h"
#include "engine/base/units.h"
#include "engine/space/superblock_store.h"
#include "engine/store/format_store.h"
#include "tools/bench/bench_options.h"
#include "tools/device_content.h"
#include "tools/device_store.h"

namespace varve {

namespace {

// Of varve stores and ext4 filesystems that this tool made: it may overwrite them without being told to.
constexpr const char* kLabel = "varve-bench";
constexpr const char* kMemoryFolder = "/dev/shm";
// How long the kernel may take to let go of a device that was mounted: a process that another engine's run is
// about to start holds the mount until it has become that program.
constexpr int kReleaseAttempts = 200;
constexpr auto kReleasePause = std::chrono::milliseconds(10);

Error Failure(std::string_view what, int number) {
  return DeviceError(fmt::format("{}: {}", what, std::strerror(number)));
}

// Runs a program of the system quietly. Its messages go to standard error when it fails.
Status RunProgram(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  pid_t child = -1;
  if (const int failed = posix_spawnp(&child, argv[0], nullptr, nullptr, argv.data(), environ); failed != 0) {
    return Unsupported(fmt::format("cannot run {}: {}", arguments[0], std::strerror(failed)));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return DeviceError(fmt::format("{} failed", arguments[0]));
  }
  return OkStatus();
}

// A file without a name on the filesystem in memory; `path` names it through this process.
Result<int> MakeMemoryFile(uint64_t bytes, std::string& path) {
  const int file = open(kMemoryFolder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) {
    return Failure(kMemoryFolder, errno);
  }
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    const int failure = errno;
    close(file);
    return Failure(kMemoryFolder, failure);
  }
  path = fmt::format("/proc/self/fd/{}", file);
  return file;
}

}  // namespace

Result<std::unique_ptr<Bed>> Bed::Make(const BedOptions& options, bool for_peers) {
  std::unique_ptr<Bed> bed(new Bed(options.block_bytes));
  bed->device_ = options.device;
  std::string file = options.device;
  int memory_file = -1;
  if (options.device.empty()) {
    const Result<int> made = MakeMemoryFile(RoundDown(options.memory_bytes, kMiB), file);
    if (!made.ok()) {
      return made.error();
    }
    memory_file = *made;
  }
  if (memory_file < 0) {
    // The content is looked at through the file itself, before another name hides it.
    if (Status unused = bed->CheckUnused(options.force); !unused.ok()) {
      return unused.error();
    }
  }
  struct stat place {};
  if (stat(file.c_str(), &place) != 0) {
    return Failure(file, errno);
  }
  if (!S_ISBLK(place.st_mode)) {
    Result<LoopDevice> loop = LoopDevice::Attach(file);
    if (memory_file >= 0) {
      close(memory_file);
    }
    if (loop.ok()) {
      bed->loop_ = std::move(*loop);
      bed->device_ = bed->loop_->path();
    } else if (for_peers || memory_file >= 0) {
      return loop.error();
    }
  }
  const Result<std::unique_ptr<OpenedDevice>> opened = OpenedDevice::Open(bed->device_, Access::kRead);
  if (!opened.ok()) {
    return opened.error();
  }
  bed->size_bytes_ = (*opened)->device().size_bytes();
  bed->taken_ = true;
  return bed;
}

Bed::~Bed() {
  if (taken_) {
    const Status cleared = Clear();
    static_cast<void>(cleared);
  }
}

Status Bed::CheckUnused(bool force) {
  const Result<std::unique_ptr<OpenedDevice>> opened = OpenedDevice::Open(device_, Access::kWrite);
  if (!opened.ok()) {
    return opened.error();
  }
  return force ? OkStatus() : CheckHoldsNothing(**opened, kLabel);
}

Status Bed::DiscardAll() {
  struct stat place {};
  if (stat(device_.c_str(), &place) != 0 || !S_ISBLK(place.st_mode)) {
    return OkStatus();
  }
  const auto take = [&] { return open(device_.c_str(), O_RDWR | O_EXCL | O_CLOEXEC); };
  int descriptor = take();
  for (int attempt = 0; attempt < kReleaseAttempts && descriptor < 0 && errno == EBUSY; ++attempt) {
    std::this_thread::sleep_for(kReleasePause);
    descriptor = take();
  }
  if (descriptor < 0) {
    return Failure(device_, errno);
  }
  // A device that cannot discard keeps its old bytes: formatting takes care of what matters of them.
  std::array<uint64_t, 2> range = {0, size_bytes_};
  ioctl(descriptor, BLKDISCARD, range.data());
  close(descriptor);
  return OkStatus();
}

Result<std::string> Bed::Prepare(const std::string& engine) {
  if (Status cleared = Clear(); !cleared.ok()) {
    return cleared.error();
  }
  if (IsVarve(engine)) {
    if (Status formatted = FormatVarve(); !formatted.ok()) {
      return formatted.error();
    }
    return device_;
  }
  // Without lazy initialisation, whose writes would come in the middle of a measurement.
  if (Status made = RunProgram(
          {"mkfs.ext4", "-q", "-F", "-L", kLabel, "-E", "lazy_itable_init=0,lazy_journal_init=0", device_});
      !made.ok()) {
    return made.error();
  }
  if (Status mounted = Mount(); !mounted.ok()) {
    return mounted.error();
  }
  // Through this process: the engine's own opens it by this name.
  const std::string folder = fmt::format("/proc/{}/fd/{}/{}", getpid(), mount_, engine);
  if (mkdir(folder.c_str(), 0700) != 0) {
    return Failure(folder, errno);
  }
  return folder;
}

Status Bed::FormatVarve() {
  const Result<std::unique_ptr<OpenedDevice>> opened = OpenedDevice::Open(device_, Access::kWrite);
  if (!opened.ok()) {
    return opened.error();
  }
  OpenedDevice& on = **opened;
  Prng random(on.clock().MonotonicNanos());
  FormatStoreOptions options;
  options.label = kLabel;
  options.uuid = MakeUuid(random.Next(), random.Next());
  options.parameters.data_block_bytes = block_bytes_;
  return on.Run(FormatStore(on.device(), on.clock(), options)).status();
}

Status Bed::Mount() {
  const int filesystem = fsopen("ext4", FSOPEN_CLOEXEC);
  if (filesystem < 0) {
    return Failure("cannot mount an ext4", errno);
  }
  if (fsconfig(filesystem, FSCONFIG_SET_STRING, "source", device_.c_str(), 0) != 0 ||
      fsconfig(filesystem, FSCONFIG_SET_FLAG, "discard", nullptr, 0) != 0 ||
      fsconfig(filesystem, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    const int failure = errno;
    close(filesystem);
    return Failure(fmt::format("cannot mount {}", device_), failure);
  }
  mount_ = fsmount(filesystem, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOATIME);
  const int failure = errno;
  close(filesystem);
  return mount_ >= 0 ? OkStatus() : Failure(fmt::format("cannot mount {}", device_), failure);
}

void Bed::Unmount() {
  if (mount_ >= 0) {
    close(std::exchange(mount_, -1));
  }
}

Status Bed::Refresh() {
  if (mount_ < 0) {
    return OkStatus();
  }
  const int number = mount_;
  Unmount();
  if (Status mounted = Mount(); !mounted.ok()) {
    return mounted;
  }
  // The engine's folder keeps its name.
  if (mount_ != number) {
    if (dup3(mount_, number, O_CLOEXEC) < 0) {
      return Failure(fmt::format("cannot mount {} again", device_), errno);
    }
    close(std::exchange(mount_, number));
  }
  return OkStatus();
}

Status Bed::Clear() {
  Unmount();
  return DiscardAll();
}

std::string Bed::device_number() const {
  struct stat place {};
  if (stat(device_.c_str(), &place) != 0 || !S_ISBLK(place.st_mode)) {
    return {};
  }
  return fmt::format("{}:{}", major(place.st_rdev), minor(place.st_rdev));
}

}  // namespace varve
