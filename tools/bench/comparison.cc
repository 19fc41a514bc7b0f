#include "tools/bench/comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "tools/bench/bench_options.h"
#include "tools/sizes.h"

namespace varve {

namespace {

using nlohmann::json;

enum class Unit { kCount, kRate, kSeconds, kMicroseconds, kBytes, kFactor };

struct Figure {
  const char* title;
  // Members from the phase down, separated by '/'.
  const char* path;
  Unit unit;
};

constexpr Figure kFigures[] = {
    {"ops/s", "/operations_per_second", Unit::kRate},
    {"seconds", "/seconds", Unit::kSeconds},
    {"p50", "/latency_us/p50", Unit::kMicroseconds},
    {"p99", "/latency_us/p99", Unit::kMicroseconds},
    {"p99.9", "/latency_us/p99.9", Unit::kMicroseconds},
    {"p99.99", "/latency_us/p99.99", Unit::kMicroseconds},
    {"max", "/latency_us/max", Unit::kMicroseconds},
    {"found", "/found", Unit::kCount},
    {"user wrote", "/user_bytes", Unit::kBytes},
    {"dev wrote", "/device/written_bytes", Unit::kBytes},
    {"dev read", "/device/read_bytes", Unit::kBytes},
    {"dev reads", "/device/reads", Unit::kCount},
    {"reads/found", "/device_reads_per_found", Unit::kFactor},
    {"WA", "/write_amplification", Unit::kFactor},
    {"WA r+w", "/read_write_amplification", Unit::kFactor},
    {"cache hits", "/cache_hit_ratio", Unit::kFactor},
    {"space", "/space_bytes", Unit::kBytes},
    {"stall s", "/stall_seconds", Unit::kSeconds},
    {"CPU s", "/cpu_seconds", Unit::kSeconds},
    {"memory", "/peak_memory_bytes", Unit::kBytes},
};

std::string Show(double value, Unit unit) {
  switch (unit) {
    case Unit::kCount:
    case Unit::kRate:
      return fmt::format("{:.0f}", value);
    case Unit::kSeconds:
      return value < 10 ? fmt::format("{:.3f}", value) : fmt::format("{:.1f}", value);
    case Unit::kMicroseconds:
      return value < 1000  ? fmt::format("{:.1f} us", value)
             : value < 1e6 ? fmt::format("{:.2f} ms", value / 1e3)
                           : fmt::format("{:.2f} s", value / 1e6);
    case Unit::kBytes:
      return FormatSize(static_cast<uint64_t>(value));
    case Unit::kFactor:
      return fmt::format("{:.3f}", value);
  }
  return {};
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::optional<double> ValueOf(const json& phase, const Figure& figure) {
  const json::json_pointer path(figure.path);
  if (phase.is_null() || !phase.contains(path) || !phase[path].is_number()) {
    return std::nullopt;
  }
  return phase[path].get<double>();
}

// The phases of all runs that stand at one place of the run: a workload may be asked for twice.
struct PhaseOfRuns {
  std::string name;
  std::map<std::string, std::map<int, json>> by_engine_and_round;
};

std::vector<PhaseOfRuns> Gather(const json& runs, std::vector<std::string>& engines) {
  std::vector<PhaseOfRuns> gathered;
  for (const json& run : runs) {
    const auto engine = run["engine"].get<std::string>();
    if (std::find(engines.begin(), engines.end(), engine) == engines.end()) {
      engines.push_back(engine);
    }
    size_t place = 0;
    for (const json& phase : run["phases"]) {
      if (place == gathered.size()) {
        gathered.push_back({phase["name"].get<std::string>(), {}});
      }
      gathered[place++].by_engine_and_round[engine][run["round"].get<int>()] = phase;
    }
  }
  return gathered;
}

// "123456 (x1.25)"; the ratio is left out for the reference itself and where it says nothing.
std::string Cell(const PhaseOfRuns& phase, const std::string& engine, const std::string& compared_to,
                 const Figure& figure) {
  const auto found = phase.by_engine_and_round.find(engine);
  if (found == phase.by_engine_and_round.end()) {
    return "-";
  }
  const auto reference = phase.by_engine_and_round.find(compared_to);
  std::vector<double> values;
  std::vector<double> ratios;
  for (const auto& [round, figures] : found->second) {
    const std::optional<double> value = ValueOf(figures, figure);
    if (!value.has_value()) {
      continue;
    }
    values.push_back(*value);
    if (engine != compared_to && reference != phase.by_engine_and_round.end() &&
        reference->second.contains(round)) {
      const std::optional<double> base = ValueOf(reference->second.at(round), figure);
      if (base.has_value() && *base != 0) {
        ratios.push_back(*value / *base);
      }
    }
  }
  if (values.empty()) {
    return "-";
  }
  const std::string shown = Show(Median(values), figure.unit);
  return ratios.empty() ? shown : fmt::format("{} (x{:.2f})", shown, Median(ratios));
}

bool SaysSomething(const PhaseOfRuns& phase, const Figure& figure) {
  for (const auto& [engine, rounds] : phase.by_engine_and_round) {
    for (const auto& [round, figures] : rounds) {
      if (ValueOf(figures, figure).value_or(0) != 0) {
        return true;
      }
    }
  }
  return false;
}

std::string Table(const PhaseOfRuns& phase, const std::vector<std::string>& engines) {
  // Engines are columns of the terminal's width, figures its rows: twenty figures fit on no line.
  constexpr int kTitleWidth = 12;
  constexpr int kColumnWidth = 22;
  std::string table = fmt::format("{:<{}}", phase.name, kTitleWidth);
  for (const std::string& engine : engines) {
    table += fmt::format("{:>{}}", engine, kColumnWidth);
  }
  table += "\n";
  for (const Figure& figure : kFigures) {
    if (!SaysSomething(phase, figure)) {
      continue;
    }
    table += fmt::format("  {:<{}}", figure.title, kTitleWidth - 2);
    for (const std::string& engine : engines) {
      table += fmt::format("{:>{}}", Cell(phase, engine, engines.front(), figure), kColumnWidth);
    }
    table += "\n";
  }
  return table + "\n";
}

}  // namespace

std::string ComparisonTables(const json& runs) {
  std::vector<std::string> engines;
  const std::vector<PhaseOfRuns> phases = Gather(runs, engines);
  // What all are compared to comes first.
  std::stable_partition(engines.begin(), engines.end(),
                        [](const std::string& name) { return name == kVarveEngine; });
  std::string tables;
  for (const PhaseOfRuns& phase : phases) {
    tables += Table(phase, engines);
  }
  return tables;
}

}  // namespace varve
