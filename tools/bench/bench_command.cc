#include "tools/bench/bench_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "tools/bench/bench.h"
#include "tools/bench/workload.h"
#include "tools/report.h"
#include "tools/sizes.h"

namespace varve {

namespace {

struct BenchArguments {
  BenchOptions options;
  std::string memory;
  std::string memory_limit;
  std::string throttle_bytes;
  std::string throttle_read_bytes;
};

std::string WorkloadList() {
  std::string list = "Workloads:\n";
  for (const Workload& workload : AllWorkloads()) {
    list += fmt::format("  {:<14}{}\n", workload.name, workload.description);
  }
  return list +
         "\nKeys are numbers of a fixed size; values cannot be compressed. fillrandom draws with repetition, "
         "so "
         "about 63% of the records exist after it.\n"
         "Every engine's run begins on an empty device and is a process of its own: varve on the raw device, "
         "the "
         "others on ext4 made there, with direct I/O where they have it, no compression, equal write "
         "buffers, "
         "tables, levels, filters and caches.\n"
         "Figures are medians over the rounds; (x1.25) is the median of the ratios to varve within one "
         "round.\n";
}

// As proc(5) has it.
std::string CommandLine() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string line((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (char& c : line) {
    c = c == '\0' ? ' ' : c;
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

std::string CheckEngine(std::string& name) {
  if (name == kRocksdbEngine || name == kRocksdbUniversalEngine || name == kLeveldbEngine ||
      name == kVarveEngine) {
    return {};
  }
  if (!IsVarve(name)) {
    return fmt::format("{}: no such engine; give varve, rocksdb, rocksdb:universal or leveldb", name);
  }
  const Result<Techniques> techniques = TechniquesOfVarve(name, Techniques());
  return techniques.ok() ? std::string() : std::string(techniques.error().message());
}

bool TakeSize(const std::string& text, const char* option, uint64_t& bytes) {
  if (text.empty()) {
    return true;
  }
  const std::optional<uint64_t> parsed = ParseSize(text);
  if (!parsed.has_value()) {
    PrintComplaint("bench",
                   fmt::format("cannot read the size {} of {}: write it like 512M or 4G", text, option));
    return false;
  }
  bytes = *parsed;
  return true;
}

int Run(BenchArguments& arguments, const CLI::App& command, const char* version) {
  BenchOptions& options = arguments.options;
  if (arguments.memory.empty() == options.bed.device.empty()) {
    PrintComplaint("bench", "say where: either --device DEVICE or --memory SIZE");
    return kExitUsage;
  }
  if (options.interleave && arguments.memory.empty()) {
    PrintComplaint("bench", "--interleave needs a device for each engine: say --memory SIZE");
    return kExitUsage;
  }
  const std::vector<std::string>& workloads = options.run.workloads;
  if (options.interleave && std::find(workloads.begin(), workloads.end(), "crash") != workloads.end()) {
    PrintComplaint("bench", "crash ends the process that is to take the next turn: not with --interleave");
    return kExitUsage;
  }
  if (arguments.memory_limit == "none") {
    options.limit_memory = false;
    arguments.memory_limit.clear();
  }
  if (!TakeSize(arguments.memory, "--memory", options.bed.memory_bytes) ||
      !TakeSize(arguments.memory_limit, "--memory-limit", options.memory_limit_bytes) ||
      !TakeSize(arguments.throttle_bytes, "--throttle-bytes", options.throttle_bytes_per_second) ||
      !TakeSize(arguments.throttle_read_bytes, "--throttle-read-bytes",
                options.throttle_read_bytes_per_second)) {
    return kExitUsage;
  }
  options.bed.block_bytes = static_cast<uint32_t>(options.run.block_bytes);
  options.version = version;
  options.command_line = CommandLine();
  options.worker_arguments = GivenRunOptions(command);
  return RunBench(options);
}

}  // namespace

void AddBenchCommand(CLI::App& app, int& exit_code, const char* version) {
  auto arguments = std::make_shared<BenchArguments>();
  BenchOptions& options = arguments->options;
  CLI::App* command = app.add_subcommand(
      "bench", "Measure the engine, side by side with RocksDB and LevelDB where they are installed");
  command->add_option("--device", options.bed.device,
                      "A block device or an image file; what is on it is lost");
  command->add_option("--memory", arguments->memory,
                      "In place of a device: a loop device of this size in memory, for example 4G (root)");
  command->add_flag("-f,--force", options.bed.force, "Take a device that holds something");
  command
      ->add_option("--engines", options.engines,
                   "Any of varve, rocksdb, leveldb, in this order; varve:none or varve:block:append is varve "
                   "with these techniques alone, rocksdb:universal merges by its size-tiered style")
      ->delimiter(',')
      ->check(CLI::Validator(CheckEngine, "NAME,..."))
      ->capture_default_str();
  command->add_option("--rounds", options.rounds, "How often each engine runs, in turn")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_flag(
      "--interleave", options.interleave,
      "The engines run at once, each on a device of its own of --memory, and take turns, each a "
      "phase with its settling: what changes on the machine changes for all of them");
  command->add_option("--memory-limit", arguments->memory_limit,
                      "Memory of an engine with its page cache, or none (default: the cache, three write "
                      "buffers, or one in reads of a settled store, and 64M)");
  command->add_option("--throttle-bytes", arguments->throttle_bytes,
                      "Bytes a second that the device reads, and writes, at most");
  command->add_option("--throttle-iops", options.throttle_operations_per_second,
                      "Requests a second that the device reads, and writes, at most");
  command->add_option("--throttle-reads", options.throttle_reads_per_second,
                      "The same for reads alone, where they are to be the slower ones");
  command->add_option(
      "--throttle-read-bytes", arguments->throttle_read_bytes,
      "Bytes a second that the device reads at most, where --throttle-bytes is not to be that low");
  command->add_option("--json", options.json_file, "Write every figure of every run to this file");
  AddRunOptions(*command, options.run);
  command->footer(WorkloadList());
  command->callback(
      [arguments, command, &exit_code, version] { exit_code = Run(*arguments, *command, version); });
}

}  // namespace varve
