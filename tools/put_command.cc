#include "tools/put_command.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "fs/ops/path.h"
#include "tools/device_store.h"
#include "tools/streams.h"

namespace varve {

namespace {

struct PutArguments {
  std::string device;
  std::string key;
  std::optional<std::string> value;
  std::string file;
};

int PutFrom(const PutArguments& arguments, ByteSource& from) {
  return WithDeviceStore("put", arguments.device, Access::kWrite, [&](DeviceStore& opened) {
    WriteWholeOptions options;
    options.caller = {.uid = getuid(), .gid = getgid(), .pid = static_cast<uint32_t>(getpid())};
    const Status status = opened.Run(WriteWhole(opened.fs(), arguments.key, from, options));
    if (!status.ok()) {
      PrintFailure("put", arguments.device, arguments.key, status.error());
      return kExitFailure;
    }
    return kExitOk;
  });
}

int RunPut(const PutArguments& arguments) {
  if (arguments.value.has_value()) {
    StringSource from(*arguments.value);
    return PutFrom(arguments, from);
  }
  if (arguments.file.empty()) {
    DescriptorSource from(STDIN_FILENO, "standard input");
    return PutFrom(arguments, from);
  }
  const int descriptor = open(arguments.file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    PrintComplaint("put", fmt::format("cannot open {}: {}", arguments.file, std::strerror(errno)));
    return kExitFailure;
  }
  DescriptorSource from(descriptor, arguments.file);
  const int exit_code = PutFrom(arguments, from);
  close(descriptor);
  return exit_code;
}

}  // namespace

void AddPutCommand(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<PutArguments>();
  CLI::App* command = app.add_subcommand("put", "Store a value under a key (unmounted store)");
  command->add_option("DEVICE", arguments->device, "Block device or image file")->required();
  command->add_option("KEY", arguments->key, "Path of the key; missing directories are made")->required();
  CLI::Option* value =
      command->add_option("VALUE", arguments->value, "The value; without it and --file, standard input");
  command->add_option("--file", arguments->file, "Take the value from this file")->excludes(value);
  command->callback([arguments, &exit_code] { exit_code = RunPut(*arguments); });
}

}  // namespace varve
