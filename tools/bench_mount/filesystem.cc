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
#include <string_view>
#include <thread>
#include <utility>

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
  const std::pair<std::string_view, const std::string&> paths[] = {
      {"{device}", place.device}, {"{mount}", place.directory}, {"{below}", place.below}};
  for (std::string& argument : command) {
    for (const auto& [name, path] : paths) {
      if (const size_t at = argument.find(name); at != std::string::npos) {
        argument.replace(at, name.size(), path);
      }
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

Status UnmountFrom(std::string& directory) {
  int result = umount2(directory.c_str(), 0);
  for (int i = 0; result != 0 && errno == EBUSY && i < kBusyRetries; ++i) {
    std::this_thread::sleep_for(milliseconds(20));
    result = umount2(directory.c_str(), 0);
  }
  if (result != 0) {
    return DeviceError(fmt::format("cannot unmount {}: {}", directory, std::strerror(errno)));
  }
  directory.clear();
  return OkStatus();
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
      // libfuse's own example, over the kernel's ext4.
      {"passthrough", make_ext4, {"passthrough_ll", "-f", "-osource={below}", "{mount}"}, "ext4"},
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
  if (!kind.kernel_type.empty() && !KernelKnows(kind.kernel_type)) {
    return fmt::format("the kernel has no {}", kind.kernel_type);
  }
  return std::nullopt;
}

Status MakeFilesystem(const FilesystemKind& kind, const MountPlace& place, Interruption& interruption) {
  return RunProgram(Filled(kind.make, place), place.log, &interruption);
}

Result<MountedFilesystem> MountedFilesystem::Mount(const FilesystemKind& kind, const MountPlace& place,
                                                   Interruption& interruption) {
  MountedFilesystem mounted;
  if (Status attached = mounted.Attach(kind, place, interruption); !attached.ok()) {
    return attached.error();
  }
  return mounted;
}

Status MountedFilesystem::Attach(const FilesystemKind& kind, const MountPlace& place,
                                 Interruption& interruption) {
  if (!kind.kernel_type.empty()) {
    const std::string& where = kind.serve.empty() ? place.directory : place.below;
    if (mount(place.device.c_str(), where.c_str(), kind.kernel_type.c_str(), MS_NOSUID | MS_NODEV, nullptr) !=
        0) {
      return DeviceError(fmt::format("cannot mount {}: {}", kind.name, std::strerror(errno)));
    }
    (kind.serve.empty() ? directory_ : below_) = where;
  }
  if (kind.serve.empty()) {
    return OkStatus();
  }
  const dev_t before = DeviceNumberOf(place.directory);
  Result<Program> daemon = Program::Start(Filled(kind.serve, place), place.log);
  if (!daemon.ok()) {
    return daemon.status();
  }
  // Also where it is given up: it may have come as far as the mount.
  directory_ = place.directory;
  daemon_ = std::move(*daemon);
  return AwaitMount(place.directory, before, *daemon_, place.log, interruption);
}

Result<std::optional<ProgramUsage>> MountedFilesystem::Unmount() {
  if (Status unmounted = UnmountFrom(directory_); !unmounted.ok()) {
    return unmounted.error();
  }
  std::optional<ProgramUsage> usage;
  if (daemon_.has_value()) {
    const std::optional<Program::End> end = daemon_->Wait(kUnmountPatienceMs, nullptr);
    daemon_.reset();
    if (!end.has_value()) {
      return DeviceError("the daemon did not end after its unmount");
    }
    usage = end->usage;
  }
  if (!below_.empty()) {
    if (Status unmounted = UnmountFrom(below_); !unmounted.ok()) {
      return unmounted.error();
    }
  }
  return usage;
}

MountedFilesystem::~MountedFilesystem() {
  for (const std::string* mounted : {&directory_, &below_}) {
    if (!mounted->empty()) {
      umount2(mounted->c_str(), MNT_DETACH);
    }
  }
}

}  // namespace varve
