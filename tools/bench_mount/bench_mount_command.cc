#include "tools/bench_mount/bench_mount_command.h"

#include <fmt/core.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "tools/bench_mount/interruption.h"
#include "tools/bench_mount/program.h"
#include "tools/bench_mount/report.h"
#include "tools/bench_mount/run.h"
#include "tools/report.h"

namespace varve {

namespace {

struct BenchMountArguments {
  std::vector<std::string> filesystems = {"varve", "ntfs-3g", "fuse2fs", "ext4", "raw"};
  std::string mount_options;
  std::string json;
  std::optional<unsigned> pinned_cpu;
  // filesystems and raw_device are decided when it runs.
  MountBenchOptions bench;
};

// As it was called, for the record.
std::string CommandLine() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string line((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!line.empty() && line.back() == '\0') {
    line.pop_back();
  }
  std::replace(line.begin(), line.end(), '\0', ' ');
  return line;
}

bool Asked(const BenchMountArguments& arguments, const std::string& name) {
  const std::vector<std::string>& asked = arguments.filesystems;
  return std::find(asked.begin(), asked.end(), name) != asked.end();
}

// What runs: those asked for that can run here. Says why others are left out.
MountBenchOptions Decided(const BenchMountArguments& arguments) {
  MountBenchOptions options = arguments.bench;
  for (const FilesystemKind& kind : KnownFilesystems("/proc/self/exe", arguments.mount_options)) {
    if (!Asked(arguments, kind.name)) {
      continue;
    }
    if (const std::optional<std::string> missing = MissingFor(kind); missing.has_value()) {
      fmt::print("{} is left out: {}\n", kind.name, *missing);
    } else {
      options.filesystems.push_back(kind);
    }
  }
  options.raw_device = Asked(arguments, "raw");
  if (options.fio_bytes > 0 && !ProgramExists("fio")) {
    fmt::print("the fio jobs are left out: there is no program fio\n");
    options.fio_bytes = 0;
  }
  return options;
}

Status WriteFile(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  file.close();
  return file ? OkStatus() : DeviceError(fmt::format("cannot write {}", path));
}

// This process and all that it starts: the daemons too.
Status PinTo(unsigned cpu) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  if (sched_setaffinity(0, sizeof(only), &only) != 0) {
    return InvalidArgument(fmt::format("--pin {}: {}", cpu, std::strerror(errno)));
  }
  return OkStatus();
}

// passthrough_ll holds a descriptor for each file that the kernel knows; what it starts with is this
// process's limit.
void AllowOpenFiles(uint64_t files) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < files) {
    limit.rlim_cur = files;
    limit.rlim_max = std::max<rlim_t>(limit.rlim_max, files);
    // Where that is refused, its creates fail and say so.
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

Status BenchMount(const BenchMountArguments& arguments, const std::string& version) {
  if (geteuid() != 0) {
    return InvalidArgument("it makes and mounts devices: run it as root");
  }
  AllowOpenFiles(2 * arguments.bench.files + 1024);
  if (arguments.pinned_cpu.has_value()) {
    if (Status pinned = PinTo(*arguments.pinned_cpu); !pinned.ok()) {
      return pinned;
    }
  }
  Interruption interruption;
  MountBenchContext context{version, CommandLine(), Decided(arguments)};
  const MountPhaseDone done = [](const MountRun& run, const MountPhase& phase) {
    fmt::print("{}\n", PhaseLine(run, phase));
    std::fflush(stdout);
  };
  const Result<MountBenchResult> result = RunMountBench(context.options, done, interruption);
  if (!result.ok()) {
    return result.status();
  }
  fmt::print("\n{}", ComparisonTable(result.value().runs));
  return arguments.json.empty() ? OkStatus()
                                : WriteFile(arguments.json, MountBenchJson(context, result.value()));
}

int RunBenchMount(const BenchMountArguments& arguments, const std::string& version) {
  const Status status = BenchMount(arguments, version);
  if (!status.ok()) {
    PrintComplaint("bench-mount", status.error().message());
    return status.Is(ErrorCode::kInvalidArgument) ? kExitUsage : kExitFailure;
  }
  return kExitOk;
}

constexpr char kFooter[] = R"(
Every phase begins right after a mount, with nothing of the device in the page cache: it measures the filesystem, not
what the kernel remembers. The fio jobs use O_DIRECT, but for the one that calls fsync after each write. "create +
unmount" counts the time until everything is on the device. Each round runs all filesystems one after the other on the
same device; compare figures of one round only.
ntfs-3g lets everybody do everything; ntfs-3g:permissions is the same, told to check permissions as varve does.
passthrough is libfuse's example passthrough_ll over ext4; docs/benchmarks.md says how to build it.
What is not installed is left out: Debian's packages are ntfs-3g, fuse2fs, e2fsprogs and fio.)";

}  // namespace

void AddBenchMountCommand(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<BenchMountArguments>();
  MountBenchOptions& bench = arguments->bench;
  bench.folder = "/dev/shm";
  bench.device_bytes = 2 * kGiB;
  bench.files = 10'000;
  bench.file_sizes = {kKiB, 16 * kKiB};
  bench.fio_bytes = 512 * kMiB;
  bench.fio_seconds = 5;
  CLI::App* command =
      app.add_subcommand("bench-mount", "Measure a mount beside ntfs-3g, fuse2fs, ext4 and the raw device");
  const auto size_in_bytes = CLI::AsSizeValue(false);
  command->add_option("--filesystems", arguments->filesystems, "Which ones")
      ->delimiter(',')
      ->check(
          CLI::IsMember({"varve", "ntfs-3g", "ntfs-3g:permissions", "fuse2fs", "ext4", "passthrough", "raw"}))
      ->capture_default_str();
  command->add_option("--rounds", bench.rounds, "How often everything runs")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--folder", bench.folder,
                   "Where the device's file lies: memory, or a folder on a real disk")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  command->add_option("--device-size", bench.device_bytes, "Size of the device that each gets in turn")
      ->transform(size_in_bytes)
      ->capture_default_str();
  command->add_option("--files", bench.files, "Small files in one directory; 0: none")->capture_default_str();
  command->add_option("--file-sizes", bench.file_sizes, "Their sizes, one workload each")
      ->delimiter(',')
      ->transform(size_in_bytes)
      ->capture_default_str();
  command->add_option("--fio-size", bench.fio_bytes, "The fio jobs' file; 0: no fio jobs")
      ->transform(size_in_bytes)
      ->capture_default_str();
  command->add_option("--seconds", bench.fio_seconds, "How long each random fio job runs")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  command->add_flag("--buffered", bench.fio_buffered, "Let the fio jobs go through the page cache");
  command->add_option("--mount-options", arguments->mount_options, "-o of varve mount");
  command
      ->add_option("--pin", arguments->pinned_cpu,
                   "Run everything on this CPU alone: daemons and who asks them")
      ->check(CLI::Range(0, CPU_SETSIZE - 1));
  command->add_option("--json", arguments->json, "Write all figures to this file");
  command->footer(kFooter);
  command->callback([arguments, &app, &exit_code] { exit_code = RunBenchMount(*arguments, app.version()); });
}

}  // namespace varve
