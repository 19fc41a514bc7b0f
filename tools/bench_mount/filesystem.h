// The filesystems that the mount's bench compares: how each is made on a device, mounted and unmounted.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/result.h"
#include "tools/bench_mount/interruption.h"
#include "tools/bench_mount/program.h"

namespace varve {

// Commands in which {device}, {mount} and {below} stand for paths.
struct FilesystemKind {
  std::string name;
  std::vector<std::string> make;
  // The program that serves the mount, in the foreground; empty: the kernel does, under the type
  // `kernel_type`. Where both are said, the kernel's is mounted at {below}, for the program to pass on.
  std::vector<std::string> serve;
  std::string kernel_type;
};

// All that are known, varve first. `varve` is the path of its executable, `options` its -o (may be empty).
std::vector<FilesystemKind> KnownFilesystems(const std::string& varve, const std::string& options);

// What it lacks on this machine: a program, or the kernel's support. nullopt when nothing.
std::optional<std::string> MissingFor(const FilesystemKind& kind);

// Where a filesystem is made and mounted.
struct MountPlace {
  std::string device;
  std::string directory;
  // Where a filesystem is mounted that another one passes on.
  std::string below;
  // For what programs print.
  std::string log;
};

Status MakeFilesystem(const FilesystemKind& kind, const MountPlace& place, Interruption& interruption);

// A mount, for as long as this lives.
class MountedFilesystem {
 public:
  static Result<MountedFilesystem> Mount(const FilesystemKind& kind, const MountPlace& place,
                                         Interruption& interruption);
  MountedFilesystem(MountedFilesystem&& other) noexcept
      : directory_(std::exchange(other.directory_, {})),
        below_(std::exchange(other.below_, {})),
        daemon_(std::move(other.daemon_)) {}
  MountedFilesystem& operator=(MountedFilesystem&&) = delete;
  // Takes it away whatever is still open there.
  ~MountedFilesystem();

  // Until everything is on the device and the daemon, if there is one, has ended: what that daemon used.
  Result<std::optional<ProgramUsage>> Unmount();

 private:
  MountedFilesystem() = default;
  Status Attach(const FilesystemKind& kind, const MountPlace& place, Interruption& interruption);

  // Mount points; empty: nothing is mounted there.
  std::string directory_;
  std::string below_;
  std::optional<Program> daemon_;
};

}  // namespace varve
