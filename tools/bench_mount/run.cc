#include "tools/bench_mount/run.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <thread>

#include "engine/base/units.h"
#include "tools/bench_mount/device.h"
#include "tools/bench_mount/fio.h"
#include "tools/bench_mount/small_files.h"

namespace varve {

namespace {

using std::chrono::steady_clock;

// What the kernel still has to free of the mount before (names and files, after a grace period of RCU) is
// freed by then, and no time of the next phase: a listing of 5 ms behind 20,000 lookups took 7.
constexpr std::chrono::milliseconds kBetweenMounts(100);

double SecondsSince(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

// "16 KiB", also "1500 B".
std::string NameOfSize(uint64_t bytes) {
  return bytes % kKiB == 0 ? fmt::format("{} KiB", bytes / kKiB) : fmt::format("{} B", bytes);
}

// A folder for the mount point and for what programs print; gone with this.
class ScratchFolder {
 public:
  static Result<ScratchFolder> Make() {
    std::string path = (std::filesystem::temp_directory_path() / "varve-bench.XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) {
      return DeviceError(fmt::format("{}: {}", path, std::strerror(errno)));
    }
    ScratchFolder folder(path);
    for (const std::string& mount_point : {folder.mount_point(), folder.below()}) {
      if (mkdir(mount_point.c_str(), 0700) != 0) {
        return DeviceError(fmt::format("{}: {}", mount_point, std::strerror(errno)));
      }
    }
    return folder;
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    if (!path_.empty()) {
      unlink(log().c_str());
      unlink(report().c_str());
      rmdir(mount_point().c_str());
      rmdir(below().c_str());
      rmdir(path_.c_str());
    }
  }

  std::string mount_point() const { return path_ + "/mnt"; }
  // For the filesystem that another one passes on.
  std::string below() const { return path_ + "/below"; }
  std::string log() const { return path_ + "/log"; }
  std::string report() const { return path_ + "/fio.json"; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

class MountBench {
 public:
  MountBench(const MountBenchOptions& options, const MountPhaseDone& done, Interruption& interruption,
             BenchDevice device, ScratchFolder scratch)
      : options_(options),
        done_(done),
        interruption_(interruption),
        device_(std::move(device)),
        scratch_(std::move(scratch)),
        place_{device_.path(), scratch_.mount_point(), scratch_.below(), scratch_.log()} {}

  Status Run(std::vector<MountRun>& runs) {
    for (uint32_t round = 1; round <= options_.rounds; ++round) {
      for (const FilesystemKind& kind : options_.filesystems) {
        runs.push_back({kind.name, round, {}});
        if (Status run = RunFilesystem(kind, runs.back()); !run.ok()) {
          return Error(run.error().code(), fmt::format("{}: {}", kind.name, run.error().message()));
        }
      }
      if (options_.raw_device && options_.fio_bytes > 0) {
        runs.push_back({kRawDevice, round, {}});
        if (Status run = RunFioOnDevice(runs.back()); !run.ok()) {
          return Error(run.error().code(), fmt::format("{}: {}", kRawDevice, run.error().message()));
        }
      }
    }
    return OkStatus();
  }

 private:
  // What a phase does on the mount; the phase that it fills has all but the device's and the daemon's
  // figures.
  using Work = std::function<Result<MountPhase>()>;

  Status RunFilesystem(const FilesystemKind& kind, MountRun& run) {
    for (const uint64_t bytes : options_.file_sizes) {
      if (Status small = options_.files > 0 ? RunSmallFilesOf(kind, bytes, run) : OkStatus(); !small.ok()) {
        return small;
      }
    }
    return options_.fio_bytes > 0 ? RunFioOn(kind, run) : OkStatus();
  }

  Status RunSmallFilesOf(const FilesystemKind& kind, uint64_t bytes, MountRun& run) {
    if (Status made = MakeAnew(kind); !made.ok()) {
      return made;
    }
    const std::string directory = place_.directory + "/small";
    for (const SmallFileOperation operation : kSmallFileOperations) {
      const Status done = RunMounted(kind, run, [&]() -> Result<MountPhase> {
        if (operation == SmallFileOperation::kCreate && mkdir(directory.c_str(), 0755) != 0) {
          return DeviceError(fmt::format("{}: {}", directory, std::strerror(errno)));
        }
        return SmallFilePhase(operation, directory, bytes);
      });
      if (!done.ok()) {
        return done;
      }
    }
    return OkStatus();
  }

  Result<MountPhase> SmallFilePhase(SmallFileOperation operation, const std::string& directory,
                                    uint64_t bytes) {
    Result<SmallFileTimes> times = RunSmallFiles(operation, directory, options_.files, bytes, interruption_);
    if (!times.ok()) {
      return times.error();
    }
    MountPhase phase;
    phase.name = fmt::format("{} {}", NameOf(operation), NameOfSize(bytes));
    phase.seconds = times->seconds;
    phase.operations = options_.files;
    if (operation == SmallFileOperation::kCreate || operation == SmallFileOperation::kCreateSynced ||
        operation == SmallFileOperation::kRead || operation == SmallFileOperation::kReadAgain) {
      phase.user_bytes = options_.files * bytes;
    }
    if (!times->nanos.empty()) {
      phase.latency = FiguresOf(std::move(times->nanos));
    }
    return phase;
  }

  Status RunFioOn(const FilesystemKind& kind, MountRun& run) {
    if (Status made = MakeAnew(kind); !made.ok()) {
      return made;
    }
    for (const FioJob& job : FioJobs()) {
      const Status done = RunMounted(
          kind, run, [&] { return RunFioJob(job, FioPlaceAt(place_.directory + "/data"), interruption_); });
      if (!done.ok()) {
        return done;
      }
    }
    return OkStatus();
  }

  Status RunFioOnDevice(MountRun& run) {
    if (Status filled = device_.FillHoles(); !filled.ok()) {
      return filled;
    }
    for (const FioJob& job : FioJobs()) {
      if (Status refreshed = device_.Refresh(); !refreshed.ok()) {
        return refreshed;
      }
      const Result<DeviceCounters> before = device_.Counters();
      Result<MountPhase> phase = RunFioJob(job, FioPlaceAt(device_.path()), interruption_);
      if (!phase.ok()) {
        return phase.status();
      }
      if (Status finished = Finish(before, std::move(*phase), run); !finished.ok()) {
        return finished;
      }
    }
    return OkStatus();
  }

  FioPlace FioPlaceAt(const std::string& file) const {
    return {file,          options_.fio_bytes, options_.fio_seconds, options_.fio_buffered, scratch_.report(),
            scratch_.log()};
  }

  Status MakeAnew(const FilesystemKind& kind) {
    Status filled = device_.FillHoles();
    return filled.ok() ? MakeFilesystem(kind, place_, interruption_) : filled;
  }

  Status RunMounted(const FilesystemKind& kind, MountRun& run, const Work& work) {
    std::this_thread::sleep_for(kBetweenMounts);
    if (Status refreshed = device_.Refresh(); !refreshed.ok()) {
      return refreshed;
    }
    const Result<DeviceCounters> before = device_.Counters();
    Result<MountedFilesystem> mounted = MountedFilesystem::Mount(kind, place_, interruption_);
    if (!mounted.ok()) {
      return mounted.status();
    }
    Result<MountPhase> phase = work();
    if (!phase.ok()) {
      return phase.status();
    }
    const auto begin = steady_clock::now();
    const Result<std::optional<ProgramUsage>> usage = mounted->Unmount();
    if (!usage.ok()) {
      return usage.status();
    }
    // ntfs-3g and fuse2fs write through the page cache of the device.
    if (Status refreshed = device_.Refresh(); !refreshed.ok()) {
      return refreshed;
    }
    phase->unmount_seconds = SecondsSince(begin);
    phase->daemon = *usage;
    return Finish(before, std::move(*phase), run);
  }

  Status Finish(const Result<DeviceCounters>& before, MountPhase phase, MountRun& run) {
    const Result<DeviceCounters> after = device_.Counters();
    if (!before.ok() || !after.ok()) {
      return before.ok() ? after.status() : before.status();
    }
    phase.device = after->Since(*before);
    run.phases.push_back(std::move(phase));
    done_(run, run.phases.back());
    return interruption_.Requested() ? Status(Cancelled("interrupted")) : OkStatus();
  }

  const MountBenchOptions& options_;
  const MountPhaseDone& done_;
  Interruption& interruption_;
  BenchDevice device_;
  ScratchFolder scratch_;
  MountPlace place_;
};

}  // namespace

Result<MountBenchResult> RunMountBench(const MountBenchOptions& options, const MountPhaseDone& done,
                                       Interruption& interruption) {
  Result<BenchDevice> device = BenchDevice::Make(options.folder, options.device_bytes);
  if (!device.ok()) {
    return device.error();
  }
  Result<ScratchFolder> scratch = ScratchFolder::Make();
  if (!scratch.ok()) {
    return scratch.error();
  }
  MountBenchResult result;
  result.direct_io = device->direct();
  MountBench bench(options, done, interruption, std::move(*device), std::move(*scratch));
  if (Status run = bench.Run(result.runs); !run.ok()) {
    return run.error();
  }
  return result;
}

}  // namespace varve
