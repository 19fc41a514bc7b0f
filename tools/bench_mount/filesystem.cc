#include "tools/bench_mount/filesystem.h"

#include <fmt/core.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

namespace varve {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kMountPatience{60};
// A daemon writes out all that it holds.
constexpr int kUnmountPatienceMs = 300'000;
// Somebody looks into every new mount (a desktop's indexer): it is busy for a moment.
constexpr int kBusyRetries = 100;

std::vector<std::string> Filled(std::vector<std::string> command, const MountPlace& place) {
  for (std::string& argument : command) {
    if (argument == "{device}") {
      argument = place.device;
    } else if (argument == "{mount}") {
      argument = place.directory;
    }
  }
  return command;
}

bool KernelKnows(const std::string& type) {
  std::ifstream list("/proc/filesystems");
  std::string word;
  while (list >> word) {
    if (word == type) {
      return true;
    }
  }
  return false;
}

dev_t DeviceNumberOf(const std::string& directory) {
  struct stat place {};
  return stat(directory.c_str(), &place) == 0 ? place.st_dev : 0;
}

// Success when `directory` has become a mount; an error when `daemon` ends before that.
Status AwaitMount(const std::string& directory, dev_t before, Program& daemon, const std::string& log,
                  Interruption& interruption) {
  constexpr int kStepMs = 2;
  const auto deadline = steady_clock::now() + kMountPatience;
  while (DeviceNumberOf(directory) == before) {
    if (const std::optional<Program::End> end = daemon.Wait(kStepMs, nullptr); end.has_value()) {
      return DeviceError(fmt::format("not mounted: exit code {}: {}", end->exit_code, TailOf(log)));
    }
    if (interruption.Requested()) {
      return Cancelled("interrupted");
    }
    if (steady_clock::now() > deadline) {
      return DeviceError(fmt::format("not mounted in time: {}", TailOf(log)));
    }
  }
  return OkStatus();
}

Result<std::optional<Program>> Attach(const FilesystemKind& kind, const MountPlace& place,
                                      Interruption& interruption) {
  if (kind.serve.empty()) {
    if (mount(place.device.c_str(), place.directory.c_str(), kind.kernel_type.c_str(), MS_NOSUID | MS_NODEV,
              nullptr) != 0) {
      return DeviceError(fmt::format("cannot mount {}: {}", kind.name, std::strerror(errno)));
    }
    return std::optional<Program>();
  }
  const dev_t before = DeviceNumberOf(place.directory);
  Result<Program> daemon = Program::Start(Filled(kind.serve, place), place.log);
  if (!daemon.ok()) {
    return daemon.error();
  }
  if (Status mounted = AwaitMount(place.directory, before, *daemon, place.log, interruption); !mounted.ok()) {
    return mounted.error();
  }
  return std::optional<Program>(std::move(*daemon));
}

}  // namespace

std::vector<FilesystemKind> KnownFilesystems(const std::string& varve, const std::string& options) {
  // Tables and journal are written by mkfs, not by a thread of the kernel during the first phases. No
  // discard, since the device's file has no holes to begin with.
  const std::vector<std::string> make_ext4 = {
      "mkfs.ext4", "-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", "{device}"};
  std::vector<std::string> serve_varve = {varve, "mount", "-f", "{device}", "{mount}"};
  if (!options.empty()) {
    serve_varve.insert(serve_varve.end(), {"-o", options});
  }
  return {
      {"varve", {varve, "mkfs", "--force", "{device}"}, serve_varve, ""},
      // big_writes: up to 128 KiB a request instead of 4 KiB (ntfs-3g(8)).
      {"ntfs-3g",
       {"mkfs.ntfs", "-Q", "-F", "{device}"},
       {"ntfs-3g", "-o", "no_detach,big_writes", "{device}", "{mount}"},
       ""},
      // By itself it lets everybody do everything, and the kernel asks it for no attributes to check.
      {"ntfs-3g:permissions",
       {"mkfs.ntfs", "-Q", "-F", "{device}"},
       {"ntfs-3g", "-o", "no_detach,big_writes,permissions", "{device}", "{mount}"},
       ""},
      {"fuse2fs", make_ext4, {"fuse2fs", "{device}", "{mount}", "-f"}, ""},
      {"ext4", make_ext4, {}, "ext4"},
  };
}

std::optional<std::string> MissingFor(const FilesystemKind& kind) {
  for (const std::vector<std::string>& command : {kind.make, kind.serve}) {
    if (!command.empty() && !ProgramExists(command.front())) {
      return fmt::format("there is no program {}", command.front());
    }
  }
  if (!kind.serve.empty() && access("/dev/fuse", R_OK | W_OK) != 0) {
    return "there is no /dev/fuse";
  }
  if (kind.serve.empty() && !KernelKnows(kind.kernel_type)) {
    return fmt::format("the kernel has no {}", kind.kernel_type);
  }
  return std::nullopt;
}

Status MakeFilesystem(const FilesystemKind& kind, const MountPlace& place, Interruption& interruption) {
  return RunProgram(Filled(kind.make, place), place.log, &interruption);
}

Result<MountedFilesystem> MountedFilesystem::Mount(const FilesystemKind& kind, const MountPlace& place,
                                                   Interruption& interruption) {
  Result<std::optional<Program>> daemon = Attach(kind, place, interruption);
  if (!daemon.ok()) {
    // A daemon may have come as far as the mount before it was given up.
    umount2(place.directory.c_str(), MNT_DETACH);
    return daemon.error();
  }
  return MountedFilesystem(place.directory, std::move(*daemon));
}

Result<std::optional<ProgramUsage>> MountedFilesystem::Unmount() {
  int result = umount2(directory_.c_str(), 0);
  for (int i = 0; result != 0 && errno == EBUSY && i < kBusyRetries; ++i) {
    std::this_thread::sleep_for(milliseconds(20));
    result = umount2(directory_.c_str(), 0);
  }
  if (result != 0) {
    return DeviceError(fmt::format("cannot unmount {}: {}", directory_, std::strerror(errno)));
  }
  directory_.clear();
  if (!daemon_.has_value()) {
    return std::optional<ProgramUsage>();
  }
  const std::optional<Program::End> end = daemon_->Wait(kUnmountPatienceMs, nullptr);
  daemon_.reset();
  if (!end.has_value()) {
    return DeviceError("the daemon did not end after its unmount");
  }
  return std::optional(end->usage);
}

MountedFilesystem::~MountedFilesystem() {
  if (!directory_.empty()) {
    umount2(directory_.c_str(), MNT_DETACH);
  }
}

}  // namespace varve
