#include "tools/fsck_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "engine/store/check_store.h"
#include "fs/ops/check_namespace.h"
#include "tools/device_store.h"
#include "tools/progress.h"
#include "tools/sizes.h"

namespace varve {

namespace {

// fsck(8).
constexpr int kFsckClean = 0;
constexpr int kFsckDamaged = 4;
constexpr int kFsckOperational = 8;
constexpr int kFsckUsage = 16;

// Enough to see what is wrong; a destroyed device has a problem in every block.
constexpr uint64_t kProblemsShown = 200;

struct FsckArguments {
  std::string device;
  bool repair = false;
  bool deep = false;
  // What fsck(8) and its callers pass to every checker.
  bool automatic = false;
  bool without_changes = false;
  bool forced = false;
  bool yes = false;
};

class PrintingObserver final : public CheckObserver {
 public:
  explicit PrintingObserver(const Clock& clock) : progress_(Progress::OnStandardError("checking", clock)) {}

  void OnProblem(std::string problem) override {
    ++problems_;
    if (problems_ <= kProblemsShown) {
      progress_.Finish();
      fmt::print("{}\n", problem);
    }
  }
  void OnProgress(uint64_t done_bytes, uint64_t total_bytes) override {
    progress_.Update(done_bytes, total_bytes);
  }
  void Finish() {
    progress_.Finish();
    if (problems_ > kProblemsShown) {
      fmt::print("and {} more\n", problems_ - kProblemsShown);
    }
  }
  uint64_t problems() const { return problems_; }

 private:
  Progress progress_;
  uint64_t problems_ = 0;
};

class NamespaceObserver final : public NamespaceCheckSink {
 public:
  explicit NamespaceObserver(PrintingObserver& to) : to_(to) {}

  void Problem(InodeNumber inode, std::string_view what) override {
    to_.OnProblem(inode.value == 0 ? std::string(what) : fmt::format("inode {}: {}", inode.value, what));
  }
  void Progress(uint64_t) override {}

 private:
  PrintingObserver& to_;
};

// What names, inodes and bytes say about each other; the engine's part is known to be readable.
Result<NamespaceSummary> CheckNames(OpenedDevice& opened, PrintingObserver& observer) {
  Result<std::unique_ptr<Store>> store = OpenStoreOn(opened, Access::kRead);
  if (!store.ok()) {
    return store.error();
  }
  NamespaceObserver names(observer);
  Result<NamespaceSummary> checked = opened.Run(CheckNamespace(*store.value(), names));
  const Status closed = opened.Run(store.value()->Close());
  if (checked.ok() && !closed.ok()) {
    return closed.error();
  }
  return checked;
}

int RunFsck(const FsckArguments& arguments) {
  if (arguments.repair || arguments.yes) {
    PrintComplaint(
        "fsck",
        "this version finds damage but cannot repair it; run it without --repair to see what is damaged");
    return kFsckUsage;
  }
  Result<std::unique_ptr<OpenedDevice>> opened = OpenedDevice::Open(arguments.device, Access::kRead);
  if (!opened.ok()) {
    PrintFailure("fsck", arguments.device, arguments.device, opened.error());
    return kFsckOperational;
  }
  PrintingObserver observer(opened.value()->clock());
  const Result<CheckSummary> checked =
      opened.value()->Run(CheckStore(opened.value()->device(), arguments.deep, observer));
  if (!checked.ok()) {
    observer.Finish();
    PrintFailure("fsck", arguments.device, arguments.device, checked.error());
    return checked.Is(ErrorCode::kCorruption) ? kFsckDamaged : kFsckOperational;
  }
  const CheckSummary& summary = checked.value();
  bool complete = summary.complete;
  NamespaceSummary names;
  if (complete) {
    const Result<NamespaceSummary> checked_names = CheckNames(*opened.value(), observer);
    if (checked_names.ok()) {
      names = checked_names.value();
    } else {
      complete = false;
      observer.OnProblem(fmt::format("names: {}", checked_names.error().message()));
    }
  }
  observer.Finish();
  fmt::print(
      "{}: {} files, {} directories, {} others; {} tables, {} records, {}; {} log groups, {} records\n",
      arguments.device, names.files, names.directories, names.others, summary.tables, summary.entries,
      FormatSize(summary.table_bytes), summary.wal_groups, summary.wal_records);
  if (observer.problems() == 0) {
    fmt::print("{}: clean\n", arguments.device);
    return kFsckClean;
  }
  fmt::print("{}: {} problems{}\n", arguments.device, observer.problems(),
             complete ? "" : "; not everything could be checked");
  if (observer.problems() == summary.superblock_problems) {
    fmt::print(
        "The other copy is good, so nothing is lost; the bad one is written anew at the next update.\n");
  } else {
    fmt::print("What is undamaged can still be read: copy it elsewhere from a read-only mount (-o ro).\n");
  }
  return kFsckDamaged;
}

}  // namespace

void AddFsckCommand(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<FsckArguments>();
  CLI::App* command = app.add_subcommand("fsck", "Check every structure and checksum of an unmounted store");
  command->add_option("DEVICE", arguments->device, "Block device or image file")->required();
  command->add_flag("--deep", arguments->deep,
                    "Also check that reads find the newest version of every key (reads everything twice)");
  command->add_flag("--repair", arguments->repair, "Mend what can be mended");
  // fsck(8) passes these on; a check without repair is the same with and without them.
  command->add_flag("-a,-p", arguments->automatic, "Accepted for fsck(8)")->group("");
  command->add_flag("-n", arguments->without_changes, "Accepted for fsck(8)")->group("");
  command->add_flag("-f", arguments->forced, "Accepted for fsck(8)")->group("");
  command->add_flag("-y", arguments->yes, "As --repair")->group("");
  command->footer("Exit codes: 0 clean, 4 damaged, 8 could not be checked, 16 wrong usage (fsck(8)).");
  command->callback([arguments, &exit_code] { exit_code = RunFsck(*arguments); });
}

}  // namespace varve
