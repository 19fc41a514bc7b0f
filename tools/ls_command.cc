#include "tools/ls_command.h"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "fs/ops/path.h"
#include "tools/device_store.h"
#include "tools/listing.h"
#include "tools/streams.h"

namespace varve {

namespace {

struct LsArguments {
  std::string device;
  std::string key;
  bool long_lines = false;
};

class ListingVisitor final : public PathVisitor {
 public:
  ListingVisitor(FileSystem& fs, std::string directory, bool long_lines)
      : fs_(fs), directory_(std::move(directory)), long_lines_(long_lines) {}

  Task<bool> Visit(std::string_view name, const Attributes& attributes) override {
    std::string line;
    if (long_lines_) {
      line = FormatListingLine(attributes, name);
      if (S_ISLNK(attributes.mode)) {
        std::string path = directory_ + "/";
        path += name;
        StringSink target;
        const Status read = co_await ReadWhole(fs_, path, target);
        if (read.ok()) {
          line += " -> ";
          AppendEscaped(line, target.bytes());
        }
      }
    } else {
      AppendEscaped(line, name);
      line += S_ISDIR(attributes.mode) ? "/" : "";
    }
    line += '\n';
    status_ = to_.Write(line);
    co_return status_.ok();
  }

  Status Finish() { return status_.ok() ? to_.Flush() : status_; }

 private:
  FileSystem& fs_;
  std::string directory_;
  bool long_lines_;
  StandardOutputSink to_;
  Status status_;
};

int RunLs(const LsArguments& arguments) {
  return WithDeviceStore("ls", arguments.device, Access::kRead, [&](DeviceStore& opened) {
    ListingVisitor visitor(opened.fs(), arguments.key, arguments.long_lines);
    Status status = opened.Run(ListPath(opened.fs(), arguments.key, visitor));
    if (status.ok()) {
      status = visitor.Finish();
    }
    if (!status.ok()) {
      PrintFailure("ls", arguments.device, arguments.key.empty() ? "/" : arguments.key, status.error());
      return kExitFailure;
    }
    return kExitOk;
  });
}

}  // namespace

void AddLsCommand(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<LsArguments>();
  CLI::App* command = app.add_subcommand("ls", "List a directory (unmounted store)");
  command->add_option("DEVICE", arguments->device, "Block device or image file")->required();
  command->add_option("KEY", arguments->key, "Path of a directory or key; the root without it");
  command->add_flag("-l,--long", arguments->long_lines, "Mode, links, owner, group, size, time and name");
  command->callback([arguments, &exit_code] { exit_code = RunLs(*arguments); });
}

}  // namespace varve
