#include "tools/label_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "engine/space/superblock_format.h"
#include "engine/space/superblock_store.h"
#include "tools/device_store.h"

namespace varve {

namespace {

struct LabelArguments {
  std::string device;
  std::optional<std::string> label;
};

Task<Status> ChangeLabel(SuperblockStore& superblocks, const std::string& label) {
  Superblock next = superblocks.current();
  next.label = label;
  Status durable = co_await superblocks.MakeDurable();
  if (!durable.ok()) {
    co_return durable;
  }
  co_return co_await superblocks.Update(std::move(next));
}

int Fail(const LabelArguments& arguments, const Status& status) {
  PrintFailure("label", arguments.device, arguments.device, status.error());
  return kExitFailure;
}

int RunLabel(const LabelArguments& arguments) {
  const bool changes = arguments.label.has_value();
  if (changes && (arguments.label->size() > superblock_format::kLabelBytesMax ||
                  arguments.label->find('\0') != std::string::npos)) {
    PrintComplaint("label", fmt::format("a label has at most {} bytes", superblock_format::kLabelBytesMax));
    return kExitUsage;
  }
  Result<std::unique_ptr<OpenedDevice>> opened =
      OpenedDevice::Open(arguments.device, changes ? Access::kWrite : Access::kRead);
  if (!opened.ok()) {
    return Fail(arguments, opened.status());
  }
  SuperblockStore superblocks((*opened)->device());
  const Result<Superblock> superblock = (*opened)->Run(superblocks.Load());
  if (!superblock.ok()) {
    return Fail(arguments, superblock.status());
  }
  if (!changes) {
    fmt::print("{}\n", superblock->label);
    return kExitOk;
  }
  const Status changed = (*opened)->Run(ChangeLabel(superblocks, *arguments.label));
  return changed.ok() ? kExitOk : Fail(arguments, changed);
}

}  // namespace

void AddLabelCommand(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<LabelArguments>();
  CLI::App* command =
      app.add_subcommand("label", "Show the name of a store, or give it another (unmounted store)");
  command->add_option("DEVICE", arguments->device, "Block device or image file")->required();
  command->add_option("LABEL", arguments->label, "The new name, at most 64 bytes; \"\" for none");
  command->callback([arguments, &exit_code] { exit_code = RunLabel(*arguments); });
}

}  // namespace varve
