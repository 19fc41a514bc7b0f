#include "tools/dump_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "engine/store/dump.h"
#include "tools/device_store.h"
#include "tools/streams.h"

namespace varve {

namespace {

struct DumpArguments {
  std::string device;
  std::string what;
  std::optional<uint64_t> table;
};

// The task that prints `what`; nullopt when there is no such structure.
std::optional<Task<Status>> DumpTask(BlockDevice& device, const DumpArguments& arguments, DumpLine line) {
  if (arguments.what == "superblock") {
    return DumpSuperblock(device, std::move(line));
  }
  if (arguments.what == "manifest") {
    return DumpManifest(device, std::move(line));
  }
  if (arguments.what == "wal") {
    return DumpWal(device, std::move(line));
  }
  if (arguments.what == "table" && arguments.table.has_value()) {
    return DumpTable(device, TableId(*arguments.table), std::move(line));
  }
  return std::nullopt;
}

int RunDump(const DumpArguments& arguments) {
  Result<std::unique_ptr<OpenedDevice>> opened = OpenedDevice::Open(arguments.device, Access::kRead);
  if (!opened.ok()) {
    PrintFailure("dump", arguments.device, arguments.device, opened.error());
    return kExitFailure;
  }
  StandardOutputSink to;
  Status written;
  const DumpLine line = [&](std::string_view text) {
    if (written.ok()) {
      written = to.Write(std::string(text) + "\n");
    }
  };
  std::optional<Task<Status>> task = DumpTask(opened.value()->device(), arguments, line);
  if (!task.has_value()) {
    PrintComplaint("dump",
                   "name superblock, manifest, wal, or table and its number (dump manifest lists them)");
    return kExitUsage;
  }
  Status status = opened.value()->Run(std::move(*task));
  if (status.ok()) {
    status = written.ok() ? to.Flush() : written;
  }
  if (!status.ok()) {
    PrintFailure("dump", arguments.device, arguments.device, status.error());
    return kExitFailure;
  }
  return kExitOk;
}

}  // namespace

void AddDumpCommand(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<DumpArguments>();
  CLI::App* command = app.add_subcommand("dump", "Print a structure of the device (unmounted store)");
  command->add_option("DEVICE", arguments->device, "Block device or image file")->required();
  command->add_option("WHAT", arguments->what, "superblock, manifest, wal or table")->required();
  command->add_option("ID", arguments->table, "Number of the table");
  command->callback([arguments, &exit_code] { exit_code = RunDump(*arguments); });
}

}  // namespace varve
