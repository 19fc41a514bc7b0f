#include "tools/fsck.h"

#include <fmt/core.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "engine/store/check_store.h"
#include "fs/ops/check_namespace.h"
#include "fs/ops/find_names.h"
#include "fs/ops/repair_namespace.h"
#include "tools/device_store.h"
#include "tools/fsck_report.h"
#include "tools/sizes.h"

namespace varve {

namespace {

class Fsck {
 public:
  explicit Fsck(const FsckOptions& options) : options_(options) {}

  int Run() {
    const Status done = RunSteps();
    if (!done.ok()) {
      PrintFailure("fsck", options_.device, options_.device, done.error());
      const bool damaged = done.error().code() == ErrorCode::kCorruption;
      return Corrected() | (damaged ? kFsckDamaged : kFsckOperational);
    }
    return Conclude();
  }

 private:
  Status RunSteps() {
    const Access access = options_.repair ? Access::kWrite : Access::kRead;
    Result<std::unique_ptr<OpenedDevice>> opened = OpenedDevice::Open(options_.device, access);
    if (!opened.ok()) {
      return opened.error();
    }
    opened_ = std::move(*opened);
    Status status = CheckBlocks();
    const bool cuts_log = options_.cut_log && OnlyLogIsBad();
    if (status.ok() && (StructureIsSound() || cuts_log)) {
      status = MendSuperblock();
    }
    if (status.ok() && cuts_log) {
      status = CutLog();
    }
    // What the engine cannot vouch for is not opened.
    if (status.ok() && StructureIsSound() && !options_.quick) {
      status = blocks_.table_problems == 0 ? CheckNames() : NameLosses();
    }
    return status;
  }

  // Superblock, manifest, space and log; and the blocks of all tables.
  Status CheckBlocks() {
    StoreProblemPrinter printer(opened_->clock());
    const CheckDepth depth = options_.deep    ? CheckDepth::kOrder
                             : options_.quick ? CheckDepth::kStructure
                                              : CheckDepth::kBlocks;
    const Result<CheckSummary> checked = opened_->Run(CheckStore(opened_->device(), depth, printer));
    printer.Finish();
    if (!checked.ok()) {
      return checked.error();
    }
    blocks_ = *checked;
    damaged_keys_ = printer.damaged_keys();
    left_ = blocks_.problems;
    return OkStatus();
  }

  // Whatever is bad is a copy of the superblock, or lies inside tables.
  bool StructureIsSound() const {
    return blocks_.complete && blocks_.problems == blocks_.superblock_problems + blocks_.table_problems;
  }

  // Of the structure; tables may be damaged too.
  bool OnlyLogIsBad() const {
    return blocks_.log_problems != 0 && blocks_.complete &&
           blocks_.problems == blocks_.superblock_problems + blocks_.table_problems + blocks_.log_problems;
  }

  Status MendSuperblock() {
    if (blocks_.superblock_problems == 0) {
      return OkStatus();
    }
    if (!options_.repair) {
      fmt::print("The other copy of the superblock is good: nothing is lost by that.\n");
      return OkStatus();
    }
    const Status mended = opened_->Run(RepairSuperblock(opened_->device()));
    if (mended.ok()) {
      fmt::print("superblock: the bad copy was written anew\n");
      mended_ += blocks_.superblock_problems;
      left_ -= blocks_.superblock_problems;
    }
    return mended;
  }

  // The store goes back to what it was before the damage.
  Status CutLog() {
    const Result<std::unique_ptr<Store>> store = OpenStoreOn(*opened_, Access::kWrite, true);
    if (!store.ok()) {
      return store.error();
    }
    const Status closed = opened_->Run((*store)->Close());
    if (closed.ok()) {
      fmt::print("log: it ends before what was damaged; what was written after that is lost\n");
      mended_ += blocks_.log_problems;
      left_ -= blocks_.log_problems;
      blocks_.problems -= blocks_.log_problems;
      blocks_.log_problems = 0;
    }
    return closed;
  }

  // Opens the store for `work`, and closes it.
  template <typename Work>
  Status WithStore(Access access, Work work) {
    Result<std::unique_ptr<Store>> store = OpenStoreOn(*opened_, access);
    if (!store.ok()) {
      return store.error();
    }
    const Status status = work(**store);
    const Status closed = opened_->Run((*store)->Close());
    return status.ok() ? closed : status;
  }

  // What names, inodes and bytes say about each other.
  Status CheckNames() {
    Status status = WithStore(Access::kRead, [this](Store& store) { return CheckConsistency(store); });
    if (status.ok() && options_.repair && names_.problems != 0) {
      status = WithStore(Access::kWrite, [this](Store& store) { return MendNames(store); });
    }
    left_ += names_.problems;
    return status;
  }

  Status CheckConsistency(Store& store) {
    NamespaceProblemList list(opened_->clock(), Records());
    const Result<NamespaceSummary> checked = opened_->Run(CheckNamespace(store, list));
    list.Finish();
    if (!checked.ok()) {
      return checked.error();
    }
    names_ = *checked;
    names_checked_ = true;
    return options_.repair ? OkStatus() : PrintWithPaths(store, list);
  }

  Status PrintWithPaths(Store& store, const NamespaceProblemList& list) {
    if (list.count() == 0) {
      return OkStatus();
    }
    std::set<InodeNumber> inodes;
    for (const NamespaceProblem& problem : list.problems()) {
      inodes.insert(problem.inode);
    }
    const Result<FoundNames> found =
        opened_->Run(FindNames(store, [&inodes](InodeNumber inode) { return inodes.contains(inode); }));
    if (!found.ok()) {
      return found.error();
    }
    list.Print(*found);
    return OkStatus();
  }

  Status MendNames(Store& store) {
    RepairPrinter printer(opened_->clock(), Records());
    const Result<RepairSummary> repaired = opened_->Run(RepairNamespace(store, opened_->clock(), printer));
    printer.Finish();
    mended_ += printer.mended();
    if (!repaired.ok()) {
      return repaired.error();
    }
    names_ = repaired->last;
    return OkStatus();
  }

  // What a damaged block held would be missed in names and inodes: they are not held against each other.
  Status NameLosses() {
    return WithStore(Access::kRead, [this](Store& store) {
      fmt::print("What cannot be read:\n");
      DamagePrinter printer(opened_->clock());
      const Status named = opened_->Run(NameDamage(store, damaged_keys_, printer));
      printer.Finish();
      if (named.ok() && printer.parts() == 0) {
        fmt::print("  nothing: what is damaged is an older version, or only helps to find things\n");
      }
      return named;
    });
  }

  uint64_t Records() const { return blocks_.entries + blocks_.wal_records; }
  int Corrected() const { return mended_ != 0 ? kFsckCorrected : kFsckClean; }

  void PrintContents() {
    std::string files;
    if (names_checked_) {
      files = fmt::format("{} files, {} directories, {} others; ", names_.files, names_.directories,
                          names_.others);
    }
    if (!options_.quick) {
      files += fmt::format("{} tables, {} records, {}; ", blocks_.tables, blocks_.entries,
                           FormatSize(blocks_.table_bytes));
    }
    fmt::print("{}: {}{} log groups, {} records\n", options_.device, files, blocks_.wal_groups,
               blocks_.wal_records);
  }

  int Conclude() {
    PrintContents();
    if (mended_ != 0) {
      fmt::print("{}: {} mended\n", options_.device, Problems(mended_));
    }
    if (left_ == 0) {
      fmt::print("{}: clean{}\n", options_.device, options_.quick ? " (tables were not read)" : "");
      return Corrected();
    }
    fmt::print("{}: {} left{}\n", options_.device, Problems(left_),
               names_checked_ ? "" : "; names and inodes were not checked against each other");
    PrintAdvice();
    return Corrected() | kFsckDamaged;
  }

  void PrintAdvice() {
    if (OnlyLogIsBad()) {
      fmt::print(
          "The log is damaged. varve fsck --repair --cut-log {} ends it before the damage: the store is then "
          "as it was at that moment, and what was written later is lost. Copy the device first.\n",
          options_.device);
    } else if (!StructureIsSound()) {
      fmt::print("{}The store itself cannot be relied on: restore its files from another copy.\n",
                 options_.repair ? "Nothing was written: this cannot be mended without guessing. " : "");
    } else if (blocks_.table_problems != 0) {
      fmt::print(
          "Reads of what is damaged fail. Copy all else elsewhere from a read-only mount (-o ro), and "
          "restore "
          "the files named above.\n");
    } else if (!options_.repair) {
      fmt::print("Mend what can be mended with: varve fsck --repair {}\n", options_.device);
    }
  }

  static std::string Problems(uint64_t count) {
    return fmt::format("{} problem{}", count, count == 1 ? "" : "s");
  }

  const FsckOptions& options_;
  std::unique_ptr<OpenedDevice> opened_;
  CheckSummary blocks_;
  NamespaceSummary names_;
  std::vector<KeyRange> damaged_keys_;
  bool names_checked_ = false;
  uint64_t mended_ = 0;
  uint64_t left_ = 0;
};

}  // namespace

int RunFsck(const FsckOptions& options) {
  return Fsck(options).Run();
}

}  // namespace varve
