#include "tools/scan_command.h"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "fs/ops/path.h"
#include "tools/device_store.h"
#include "tools/streams.h"

namespace varve {

namespace {

struct ScanArguments {
  std::string device;
  std::string prefix;
  bool values = false;
  bool null_ended = false;
};

class ScanVisitor final : public PathVisitor {
 public:
  ScanVisitor(FileSystem& fs, const ScanArguments& arguments) : fs_(fs), arguments_(arguments) {}

  Task<bool> Visit(std::string_view path, const Attributes& attributes) override {
    // A directory has no value; what lies in it comes by itself.
    if (S_ISDIR(attributes.mode)) {
      co_return true;
    }
    StringSink value;
    const bool has_value = S_ISREG(attributes.mode) || S_ISLNK(attributes.mode);
    if (arguments_.values && has_value) {
      status_ = co_await ReadWhole(fs_, path, value);
      if (!status_.ok()) {
        failed_path_ = path;
        co_return false;
      }
    }
    Append(path, value.bytes());
    status_ = to_.Write(record_);
    co_return status_.ok();
  }

  Status Finish() { return status_.ok() ? to_.Flush() : status_; }
  const std::string& failed_path() const { return failed_path_; }

 private:
  void Append(std::string_view path, std::string_view value) {
    record_.clear();
    if (arguments_.null_ended) {
      record_ += path;
      record_ += '\0';
      if (arguments_.values) {
        record_ += value;
        record_ += '\0';
      }
      return;
    }
    AppendEscaped(record_, path);
    if (arguments_.values) {
      record_ += '\t';
      AppendEscaped(record_, value);
    }
    record_ += '\n';
  }

  FileSystem& fs_;
  const ScanArguments& arguments_;
  StandardOutputSink to_;
  Status status_;
  std::string failed_path_;
  std::string record_;
};

int RunScan(const ScanArguments& arguments) {
  return WithDeviceStore("scan", arguments.device, Access::kRead, [&](DeviceStore& opened) {
    ScanVisitor visitor(opened.fs(), arguments);
    Status status = opened.Run(ScanPaths(opened.fs(), arguments.prefix, visitor));
    if (status.ok()) {
      status = visitor.Finish();
    }
    if (!status.ok()) {
      const std::string& subject = visitor.failed_path().empty() ? arguments.device : visitor.failed_path();
      PrintFailure("scan", arguments.device, subject, status.error());
      return kExitFailure;
    }
    return kExitOk;
  });
}

}  // namespace

void AddScanCommand(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ScanArguments>();
  CLI::App* command = app.add_subcommand("scan", "Print keys in order, all or by prefix (unmounted store)");
  command->add_option("DEVICE", arguments->device, "Block device or image file")->required();
  command->add_option("PREFIX", arguments->prefix, "Only keys that begin with this");
  command->add_flag("--values", arguments->values, "A tab and the value after each key");
  command->add_flag(
      "-0,--null", arguments->null_ended,
      "End keys and values with a NUL and print them as they are, instead of one escaped line a key");
  command->callback([arguments, &exit_code] { exit_code = RunScan(*arguments); });
}

}  // namespace varve
