#include "tools/get_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "fs/ops/path.h"
#include "tools/device_store.h"
#include "tools/streams.h"

namespace varve {

namespace {

struct GetArguments {
  std::string device;
  std::string key;
};

int RunGet(const GetArguments& arguments) {
  return WithDeviceStore("get", arguments.device, Access::kRead, [&](DeviceStore& opened) {
    StandardOutputSink to;
    Status status = opened.Run(ReadWhole(opened.fs(), arguments.key, to));
    if (status.ok()) {
      status = to.Flush();
    }
    if (!status.ok()) {
      PrintFailure("get", arguments.device, arguments.key, status.error());
      return kExitFailure;
    }
    return kExitOk;
  });
}

}  // namespace

void AddGetCommand(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<GetArguments>();
  CLI::App* command = app.add_subcommand("get", "Write a key's value to standard output (unmounted store)");
  command->add_option("DEVICE", arguments->device, "Block device or image file")->required();
  command->add_option("KEY", arguments->key, "Path of the key")->required();
  command->callback([arguments, &exit_code] { exit_code = RunGet(*arguments); });
}

}  // namespace varve
