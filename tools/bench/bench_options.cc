#include "tools/bench/bench_options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "engine/base/size_limits.h"
#include "tools/bench/records.h"
#include "tools/bench/workload.h"
#include "tools/sizes.h"
#include "tools/techniques.h"

namespace varve {

namespace {

// Beside cache and write buffers: code, indexes that are not in the cache, buffers of merges.
constexpr uint64_t kOtherMemoryBytes = 64 * kMiB;
constexpr uint64_t kWriteBuffersAtOnce = 3;

constexpr const char* kGroup = "Workload";
constexpr const char* kShapeGroup = "Engine";
constexpr const char* kWorkloads = "workloads";

CLI::Validator Size() {
  return {[](std::string& text) {
            const std::optional<uint64_t> bytes = ParseSize(text);
            if (!bytes.has_value()) {
              return fmt::format("{}: give a size like 4096, 64M or 1.5G", text);
            }
            text = std::to_string(*bytes);
            return std::string();
          },
          "SIZE"};
}

// "100" or "100-2000", both sizes.
std::string TakeValueSizes(const std::string& text, RunOptions& options) {
  const size_t dash = text.find('-');
  const std::optional<uint64_t> least = ParseSize(text.substr(0, dash));
  const std::optional<uint64_t> most = dash == std::string::npos ? least : ParseSize(text.substr(dash + 1));
  if (!least.has_value() || !most.has_value() || *least > *most || *most > kValueBytesMax) {
    return fmt::format("{}: give a size like 1000, or a range like 100-2000", text);
  }
  options.value_bytes_min = *least;
  options.value_bytes_max = *most;
  return {};
}

std::string TakeTechnique(const std::string& text, RunOptions& options) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const std::string state = equals == std::string::npos ? "" : text.substr(equals + 1);
  const auto* const found = std::find_if(kTechniqueNames.begin(), kTechniqueNames.end(),
                                         [&](const TechniqueName& known) { return known.name == name; });
  if (found == kTechniqueNames.end() || (state != "on" && state != "off")) {
    return fmt::format(
        "{}: give NAME=on or NAME=off; names are block, append, sstlog, buffer, delete, monkey", text);
  }
  options.techniques.*(found->flag) = state == "on";
  return {};
}

// Each is checked where it is read, so that a worker's arguments are those of the command.
CLI::Option* AddChecked(CLI::App& command, const char* name, RunOptions& options, const char* description,
                        std::string (*take)(const std::string&, RunOptions&)) {
  CLI::Option* option = command.add_option_function<std::vector<std::string>>(
      name,
      [&options, take, name](const std::vector<std::string>& texts) {
        for (const std::string& text : texts) {
          if (const std::string complaint = take(text, options); !complaint.empty()) {
            throw CLI::ValidationError(name, complaint);
          }
        }
      },
      description);
  return option->allow_extra_args(false)->group(kGroup);
}

void AddWorkloadOptions(CLI::App& command, RunOptions& options) {
  static const std::map<std::string, Distribution> kDistributions = {
      {"uniform", Distribution::kUniform},
      {"zipfian", Distribution::kZipfian},
      {"scrambled", Distribution::kScrambledZipfian},
      {"latest", Distribution::kLatest},
      {"hotspot", Distribution::kHotRange},
  };
  command
      .add_option("--workloads", options.workloads, "Phases, in this order, on a fresh store; listed below")
      ->delimiter(',')
      ->check(CLI::Validator(
          [](std::string& name) {
            return FindWorkload(name) == nullptr ? fmt::format("{}: no such workload", name) : std::string();
          },
          "NAME,..."))
      ->capture_default_str();
  const CLI::Range positive(uint64_t{1}, uint64_t{1} << 50);
  command.add_option("--number", options.number, "Records")->check(positive)->capture_default_str();
  command.add_option("--operations", options.operations,
                     "Operations of phases that do not fill (default: as many as records)");
  command.add_option("--reads", options.reads, "Operations of phases that only read (default: as of others)");
  command.add_option("--key-size", options.key_bytes, "Bytes of a key")
      ->check(CLI::Range(kBenchKeyBytesMin, size_t{kKeyBytesMax}))
      ->capture_default_str();
  AddChecked(command, "--value-size", options, "Bytes of a value, or a range A-B (default: 100)",
             TakeValueSizes);
  command.add_option("--threads", options.threads, "Threads that ask")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command
      .add_option("--depth", options.depth,
                  "Requests in flight on each thread (peers answer one at a time: give them threads)")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      .add_option("--distribution", options.distribution,
                  "Which records are drawn where the workload does not say: uniform, zipfian, scrambled, "
                  "latest, hotspot (default: uniform)")
      ->transform(CLI::CheckedTransformer(kDistributions))
      ->option_text("NAME");
  command.add_option("--zipf-constant", options.zipf_constant, "Between 0 and 1: how skewed a Zipfian is")
      ->check(CLI::Range(0.001, 0.9999))
      ->capture_default_str();
  command
      .add_option("--deletes", options.delete_percent,
                  "Percent of the updates that delete instead; of readwritedelete, of all operations")
      ->check(CLI::Range(0.0, 10.0));
  command.add_option("--scan-length", options.scan_length, "Entries that `scan` reads")
      ->check(CLI::Range(1U, 1'000'000U))
      ->capture_default_str();
  command.add_option("--rate-limit", options.rate_limit,
                     "Operations a second, over all threads; latency then counts from when each was due");
  command.add_option("--write-rate", options.write_rate, "Puts a second of the workloads with a writer")
      ->check(positive)
      ->capture_default_str();
  command.add_option("--duration", options.duration_seconds,
                     "End phases that do not fill after so many seconds");
  command.add_option("--seed", options.seed, "Of all random draws")->capture_default_str();
  command
      .add_option("--log-interval", options.log_interval_seconds,
                  "Seconds after which every engine makes its log durable; 0: their own ways, varve 1, the "
                  "others never")
      ->check(CLI::Range(0.0, 300.0))
      ->capture_default_str();
  command.add_flag("--sync", options.sync, "Each write is durable before its call ends");
}

void AddEngineOptions(CLI::App& command, RunOptions& options) {
  command.add_option("--cache", options.cache_bytes, "Block cache (default: 256M)")->transform(Size());
  command.add_option("--memtable", options.memtable_bytes, "Write buffer (default: 64M)")->transform(Size());
  command.add_option("--table-size", options.table_bytes, "Target size of a table (default: 64M)")
      ->transform(Size());
  command.add_option("--block-size", options.block_bytes, "Target size of a data block (default: 4K)")
      ->transform(Size());
  command.add_option("--ratio", options.level_ratio, "Size of a level by the one above")
      ->check(CLI::Range(2, 100))
      ->capture_default_str();
  command
      .add_option("--level1", options.level1_bytes,
                  "Size of level 1; with append merge times the ratio (default: 256M)")
      ->transform(Size());
  command.add_option("--background", options.background_threads, "Threads that merge")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command
      .add_option(
          "--spin", options.spin_micros,
          "Microseconds that a thread of varve's looks for its answer from the device before it sleeps")
      ->check(CLI::Range(0U, 1'000U))
      ->capture_default_str();
  AddChecked(command, "--technique", options, "NAME=on|off, of varve; may be repeated", TakeTechnique)
      ->group(kShapeGroup);
}

}  // namespace

bool IsVarve(std::string_view engine) {
  return engine == kVarveEngine || engine.starts_with("varve:");
}

Result<Techniques> TechniquesOfVarve(std::string_view engine, const Techniques& unless_named) {
  const size_t colon = engine.find(':');
  return colon == std::string_view::npos ? unless_named : ParseTechniques(engine.substr(colon + 1));
}

uint64_t DefaultMemoryLimit(const RunOptions& run, bool writing) {
  const uint64_t write_buffers = writing ? kWriteBuffersAtOnce : 1;
  return run.cache_bytes + write_buffers * run.memtable_bytes + kOtherMemoryBytes;
}

void AddRunOptions(CLI::App& command, RunOptions& options) {
  command.option_defaults()->group(kGroup);
  AddWorkloadOptions(command, options);
  command.option_defaults()->group(kShapeGroup);
  AddEngineOptions(command, options);
  command.option_defaults()->group("Options");
}

std::vector<std::string> GivenRunOptions(const CLI::App& command) {
  std::vector<std::string> arguments;
  for (const CLI::Option* option : command.get_options()) {
    if ((option->get_group() != kGroup && option->get_group() != kShapeGroup) || option->count() == 0 ||
        option->get_lnames().front() == kWorkloads) {
      continue;
    }
    for (const std::string& result : option->results()) {
      const std::string name = "--" + option->get_lnames().front();
      arguments.push_back(option->get_type_size() == 0 ? name : fmt::format("{}={}", name, result));
    }
  }
  return arguments;
}

}  // namespace varve
