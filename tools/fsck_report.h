// What checks of a store tell the person who asked: problems as lines, damage by the names of files, a bar.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/key_range.h"
#include "engine/store/check_store.h"
#include "fs/ops/find_names.h"
#include "fs/ops/name_damage.h"
#include "fs/ops/namespace_problem.h"
#include "fs/ops/repair_namespace.h"
#include "tools/progress.h"

namespace varve {

// Exit codes of fsck(8); they are ORed.
inline constexpr int kFsckClean = 0;
inline constexpr int kFsckCorrected = 1;
inline constexpr int kFsckDamaged = 4;
inline constexpr int kFsckOperational = 8;
inline constexpr int kFsckUsage = 16;

// Prints to standard output, up to a limit: a destroyed device has a problem in every block.
class ProblemLines {
 public:
  void Print(std::string_view line, Progress& progress);
  // Says how many were not shown.
  void End();

 private:
  uint64_t lines_ = 0;
};

// The engine's problems. Remembers the keys that they concern.
class StoreProblemPrinter final : public CheckObserver {
 public:
  explicit StoreProblemPrinter(const Clock& clock)
      : progress_(Progress::OnStandardError("checking blocks", clock)) {}

  void OnProblem(StoreProblem problem) override;
  void OnProgress(uint64_t done_bytes, uint64_t total_bytes) override {
    progress_.Update(done_bytes, total_bytes);
  }
  void Finish();
  const std::vector<KeyRange>& damaged_keys() const { return damaged_keys_; }

 private:
  Progress progress_;
  ProblemLines lines_;
  std::vector<KeyRange> damaged_keys_;
};

class DamagePrinter final : public DamageSink {
 public:
  explicit DamagePrinter(const Clock& clock) : progress_(Progress::OnStandardError("naming", clock)) {}

  void Damaged(std::string_view path, std::string_view part) override;
  void Finish() { lines_.End(); }
  uint64_t parts() const { return parts_; }

 private:
  Progress progress_;
  ProblemLines lines_;
  uint64_t parts_ = 0;
};

// Problems of names and inodes, kept until they can be printed with paths.
class NamespaceProblemList final : public NamespaceCheckSink {
 public:
  // `records` is about how many there are.
  NamespaceProblemList(const Clock& clock, uint64_t records)
      : progress_(Progress::OnStandardError("checking names", clock, ProgressUnit::kOperations)),
        records_(records) {}

  void Problem(const NamespaceProblem& problem) override;
  void Progress(uint64_t records) override { progress_.Update(records, records_); }
  void Finish() { progress_.Finish(); }
  // `found` has the names of the problems' inodes.
  void Print(const FoundNames& found) const;
  const std::vector<NamespaceProblem>& problems() const { return problems_; }
  uint64_t count() const { return count_; }

 private:
  varve::Progress progress_;
  uint64_t records_;
  uint64_t count_ = 0;
  std::vector<NamespaceProblem> problems_;  // those that will be shown
};

class RepairPrinter final : public RepairSink {
 public:
  // `records` is about how many there are.
  RepairPrinter(const Clock& clock, uint64_t records)
      : progress_(Progress::OnStandardError("mending names", clock, ProgressUnit::kOperations)),
        records_(records) {}

  void Mended(std::string_view path, const NamespaceProblem& problem, std::string_view outcome) override;
  void Left(std::string_view path, const NamespaceProblem& problem) override;
  void Progress(uint64_t records) override { progress_.Update(records, records_); }
  void Finish();
  uint64_t mended() const { return mended_; }

 private:
  varve::Progress progress_;
  uint64_t records_;
  ProblemLines lines_;
  uint64_t mended_ = 0;
};

}  // namespace varve
