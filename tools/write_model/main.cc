// The model's command line (docs/benchmarks.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/techniques.h"
#include "tools/write_model/write_model.h"

namespace varve::write_model {
namespace {

struct Arguments {
  ModelOptions model;
  std::vector<std::string> techniques{"none", "block", "append", "block:append"};
  uint64_t key_bytes = 32;
  uint64_t value_bytes = 1000;
  std::string json;
};

// As `varve bench` writes its results, so that one report draws both.
nlohmann::json RunOf(const std::string& techniques, const ModelResult& result) {
  nlohmann::json phase = {{"name", "fillrandom"}, {"user_bytes", static_cast<uint64_t>(result.user_bytes)}};
  phase["write_amplification"] = result.written_bytes() / result.user_bytes;
  phase["space_bytes"] = static_cast<uint64_t>(result.bytes());
  phase["levels"] = nlohmann::json::array();
  for (uint32_t level = 0; level < kLevels; ++level) {
    const ModelLevel& of = result.levels[level];
    if (of.written_bytes > 0 || of.bytes > 0) {
      phase["levels"].push_back({{"level", level},
                                 {"bytes", static_cast<uint64_t>(of.bytes)},
                                 {"wasted_bytes", static_cast<uint64_t>(of.wasted_bytes)},
                                 {"written_bytes", static_cast<uint64_t>(of.written_bytes)}});
    }
  }
  return {{"engine", "model:" + techniques}, {"round", 1}, {"phases", {phase}}};
}

std::string LineOf(const std::string& techniques, const ModelResult& result) {
  std::string line =
      fmt::format("{:16} written {:6.2f}, by level", techniques, result.written_bytes() / result.user_bytes);
  double wasted = 0;
  for (const ModelLevel& level : result.levels) {
    if (level.written_bytes > 0) {
      line += fmt::format(" {:.2f}", level.written_bytes / result.user_bytes);
    }
    wasted += level.wasted_bytes;
  }
  line += fmt::format("; space {:.0f} MiB, wasted {:.0f}", result.bytes() / kMiB, wasted / kMiB);
  for (uint32_t level = 2; level < kLevels; ++level) {
    const auto& by = result.levels[level].children_by;
    if (by != decltype(result.levels[level].children_by){}) {
      line += fmt::format("; L{} table {} block {} append {}", level, by[1], by[2], by[3]);
    }
  }
  return line;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("What merges write into each level under uniform random puts, by a model of the write path");
  StoreOptions& store = arguments.model.store;
  const CLI::Validator size = CLI::AsSizeValue(false);
  app.add_option("--techniques", arguments.techniques, "NAME,...: none, block, append, block:append")
      ->delimiter(',');
  app.add_option("--number", arguments.model.records, "Puts, and the keys that they draw from");
  app.add_option("--key-size", arguments.key_bytes, "Bytes of a key");
  app.add_option("--value-size", arguments.value_bytes, "Bytes of a value");
  app.add_option("--device-size", arguments.model.device_bytes, "Bytes of the device")->transform(size);
  app.add_option("--sector-size", arguments.model.sector_bytes, "Bytes of a sector");
  app.add_option("--block-size", arguments.model.block_bytes, "Target size of a data block")->transform(size);
  app.add_option("--memtable", store.memtable_bytes, "Write buffer")->transform(size);
  app.add_option("--table-size", store.table_bytes, "Target size of a table")->transform(size);
  app.add_option("--level1", store.level1_bytes, "Size of level 1; with append merge times the ratio")
      ->transform(size);
  app.add_option("--ratio", store.level_ratio, "Size of a level by the one above");
  app.add_option("--json", arguments.json, "Write it to this file too, as varve bench does");
  CLI11_PARSE(app, argc, argv);
  arguments.model.record_bytes = arguments.key_bytes + arguments.value_bytes;
  nlohmann::json document = {{"command", "write-model"}, {"runs", nlohmann::json::array()}};
  for (const std::string& name : arguments.techniques) {
    const Result<Techniques> techniques = ParseTechniques(name);
    if (!techniques.ok()) {
      std::cerr << "write-model: " << techniques.ToString() << "\n";
      return 2;
    }
    store.techniques = *techniques;
    const Result<ModelResult> result = RunWriteModel(arguments.model);
    if (!result.ok()) {
      std::cerr << "write-model: " << result.ToString() << "\n";
      return 1;
    }
    std::cout << LineOf(name, *result) << "\n";
    document["runs"].push_back(RunOf(name, *result));
  }
  if (!arguments.json.empty() && !(std::ofstream(arguments.json) << document.dump(1) << "\n")) {
    std::cerr << "write-model: " << arguments.json << " cannot be written\n";
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace varve::write_model

int main(int argc, char** argv) {
  try {
    return varve::write_model::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "write-model: " << error.what() << "\n";
    return 1;
  }
}
