#include "tools/stats_command.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "fs/fuse/live_attributes.h"
#include "tools/device_store.h"
#include "tools/json_outline.h"
#include "tools/live_attribute.h"
#include "tools/streams.h"

namespace varve {

namespace {

struct StatsArguments {
  std::string place;
  bool json = false;
};

int PrintStatistics(const std::string& json, bool as_json) {
  StandardOutputSink to;
  const std::string text = as_json ? json + "\n" : OutlineOfJson(json).value_or(json + "\n");
  Status status = to.Write(text);
  if (status.ok()) {
    status = to.Flush();
  }
  if (!status.ok()) {
    PrintComplaint("stats", status.error().message());
    return kExitFailure;
  }
  return kExitOk;
}

int RunStats(const StatsArguments& arguments) {
  struct stat place {};
  if (stat(arguments.place.c_str(), &place) == 0 && S_ISDIR(place.st_mode)) {
    const Result<std::string> json =
        ReadLiveAttribute(arguments.place, kStatisticsAttribute, ": name the mount point, or the device");
    if (!json.ok()) {
      PrintComplaint("stats", fmt::format("{}: {}", arguments.place, json.error().message()));
      return kExitFailure;
    }
    return PrintStatistics(json.value(), arguments.json);
  }
  return WithDeviceStore("stats", arguments.place, Access::kRead, [&](DeviceStore& opened) {
    return PrintStatistics(opened.store().StatisticsJson(), arguments.json);
  });
}

}  // namespace

void AddStatsCommand(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<StatsArguments>();
  CLI::App* command = app.add_subcommand("stats", "Show what a store holds and what it has done");
  command->add_option("PLACE", arguments->place, "Where it is mounted, or the device when it is not")
      ->required();
  command->add_flag("--json", arguments->json, "As one JSON object, for programs");
  command->callback([arguments, &exit_code] { exit_code = RunStats(*arguments); });
}

}  // namespace varve
