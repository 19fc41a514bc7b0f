#include "tools/rm_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "fs/ops/path.h"
#include "tools/device_store.h"

namespace varve {

namespace {

struct RmArguments {
  std::string device;
  std::vector<std::string> keys;
  bool recursive = false;
};

int RunRm(const RmArguments& arguments) {
  return WithDeviceStore("rm", arguments.device, Access::kWrite, [&](DeviceStore& opened) {
    int exit_code = kExitOk;
    for (const std::string& key : arguments.keys) {
      const Status status = opened.Run(RemovePath(opened.fs(), key, arguments.recursive));
      if (!status.ok()) {
        PrintFailure("rm", arguments.device, key, status.error());
        if (status.Is(ErrorCode::kNotEmpty)) {
          PrintComplaint("rm", "remove a directory with all that it holds with -r");
        }
        exit_code = kExitFailure;
      }
    }
    // The space of large values comes back in the background: this process is all the background there is.
    const Status removed = opened.Run(opened.fs().FinishRemovals());
    if (!removed.ok()) {
      PrintFailure("rm", arguments.device, arguments.device, removed.error());
      exit_code = kExitFailure;
    }
    return exit_code;
  });
}

}  // namespace

void AddRmCommand(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<RmArguments>();
  CLI::App* command = app.add_subcommand("rm", "Remove keys (unmounted store)");
  command->add_option("DEVICE", arguments->device, "Block device or image file")->required();
  command->add_option("KEY", arguments->keys, "Paths to remove")->required();
  command->add_flag("-r,--recursive", arguments->recursive, "Remove directories with all that they hold");
  command->callback([arguments, &exit_code] { exit_code = RunRm(*arguments); });
}

}  // namespace varve
