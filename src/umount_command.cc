#include "src/umount_command.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/result.h"
#include "engine/device/device_holder.h"
#include "fs/fuse/live_attributes.h"
#include "src/mount_table.h"
#include "tools/live_attribute.h"
#include "tools/report.h"

namespace varve {

namespace {

struct UmountArguments {
  std::string what;
  bool lazy = false;
  bool force = false;
  bool no_wait = false;
};

// When a person should be told what is being waited for. A daemon that was cut off may never end: it is not
// waited for any longer.
constexpr int kPatienceMillis = 3000;

std::optional<pid_t> DaemonOf(const std::string& directory) {
  const Result<std::string> text = ReadLiveAttribute(directory, kProcessAttribute, "");
  pid_t pid = 0;
  if (!text.ok() || std::from_chars(text->data(), text->data() + text->size(), pid).ec != std::errc()) {
    return std::nullopt;
  }
  return pid;
}

// A descriptor that becomes readable when the daemon of the mount has gone; -1 when it is dead already or in
// another process namespace.
int WatchDaemon(const std::string& directory) {
  const std::optional<pid_t> pid = DaemonOf(directory);
  if (!pid.has_value()) {
    return -1;
  }
  const auto descriptor = static_cast<int>(syscall(SYS_pidfd_open, *pid, 0));
  // Asked again: had it died in between, the number might be somebody else's by now.
  if (descriptor >= 0 && DaemonOf(directory) != pid) {
    close(descriptor);
    return -1;
  }
  return descriptor;
}

// The same without a word to the daemon, which may not answer: by the lock that it has on its device.
int WatchHolder(const std::string& source) {
  struct stat device {};
  const pid_t holder = stat(source.c_str(), &device) == 0 ? LockHolderOf(device) : 0;
  return holder == 0 ? -1 : static_cast<int>(syscall(SYS_pidfd_open, holder, 0));
}

Error UmountError(int error, const std::string& directory) {
  if (error == EBUSY) {
    return Busy(fmt::format("{} is in use (fuser -vm {} says by whom; --lazy detaches it all the same)",
                            directory, directory));
  }
  return DeviceError(fmt::format("{}: {}", directory, std::strerror(error)));
}

// Ordinary users may unmount what they mounted, through the set-user-id helper.
Status UmountByHelper(const UmountArguments& arguments, const std::string& directory) {
  const pid_t child = fork();
  if (child == 0) {
    const char* const lazy = arguments.lazy ? "-uz" : "-u";
    execlp("fusermount3", "fusermount3", lazy, "--", directory.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    return DeviceError(fmt::format("cannot run fusermount3: {}", std::strerror(errno)));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return OkStatus();
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
    return NotFound("fusermount3 is missing: install the package fuse3, or unmount as root");
  }
  return Busy(fmt::format("fusermount3 did not unmount {}", directory));
}

Status Unmount(const UmountArguments& arguments, const std::string& directory) {
  if (geteuid() != 0) {
    return UmountByHelper(arguments, directory);
  }
  const int flags = UMOUNT_NOFOLLOW | (arguments.lazy ? MNT_DETACH : 0) | (arguments.force ? MNT_FORCE : 0);
  return umount2(directory.c_str(), flags) == 0 ? OkStatus() : Status(UmountError(errno, directory));
}

void WaitFor(int daemon, bool cut_off) {
  pollfd watched = {daemon, POLLIN, 0};
  if (poll(&watched, 1, kPatienceMillis) != 0) {
    return;
  }
  if (cut_off) {
    fmt::print(stderr,
               "varve umount: unmounted; the daemon has not ended, and keeps the device until it does\n");
  } else {
    fmt::print(stderr, "varve umount: unmounted; the daemon is still writing to the device\n");
    poll(&watched, 1, -1);
  }
}

// What to wait for after unmounting, or -1.
int WatchFor(const UmountArguments& arguments, const MountedEntry& mounted) {
  if (arguments.no_wait || arguments.lazy) {
    return -1;
  }
  return arguments.force ? WatchHolder(mounted.source) : WatchDaemon(mounted.directory);
}

int RunUmount(const UmountArguments& arguments) {
  const std::optional<MountedEntry> mounted = FindVarveMount(arguments.what);
  if (!mounted.has_value()) {
    PrintComplaint("umount", fmt::format("{}: no varve filesystem is mounted there", arguments.what));
    return kExitFailure;
  }
  const int daemon = WatchFor(arguments, *mounted);
  const Status unmounted = Unmount(arguments, mounted->directory);
  if (!unmounted.ok()) {
    PrintComplaint("umount", unmounted.error().message());
  } else if (daemon >= 0) {
    WaitFor(daemon, arguments.force);
  }
  if (daemon >= 0) {
    close(daemon);
  }
  return unmounted.ok() ? kExitOk : kExitFailure;
}

}  // namespace

void AddUmountCommand(CLI::App& app, int& exit_code) {
  CLI::App* const command = app.add_subcommand(
      "umount", "Unmount, and wait until everything is on the device and the daemon has gone");
  const auto arguments = std::make_shared<UmountArguments>();
  command->add_option("directory", arguments->what, "The mount point, or the device")->required();
  command->add_flag("-l,--lazy", arguments->lazy, "Detach now; the daemon ends when the last user has gone");
  command->add_flag(
      "-f,--force", arguments->force,
      "End the connection at once: for a daemon that no longer answers. What was not yet on the device "
      "is lost as in a crash. Waits only a few seconds for the daemon");
  command->add_flag("--no-wait", arguments->no_wait, "Do not wait for the daemon");
  command->callback([arguments, &exit_code] { exit_code = RunUmount(*arguments); });
}

}  // namespace varve
