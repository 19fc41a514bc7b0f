#include "fs/ops/repair_namespace.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fs/ops/check_namespace.h"
#include "fs/ops/find_names.h"
#include "fs/ops/mend_namespace.h"

namespace varve {

namespace {

// So many problems are kept in memory at once; the others are found again when these are mended.
constexpr size_t kProblemsARound = 100'000;
// Mending may bring new problems to light (a directory that is found again has counts), but few deep. Should
// two mends ever undo each other, this ends it.
constexpr int kRoundsMax = 1000;

class ProblemCollector final : public NamespaceCheckSink {
 public:
  explicit ProblemCollector(RepairSink& sink) : sink_(sink) {}

  void Problem(const NamespaceProblem& problem) override {
    counter_is_wrong = counter_is_wrong || problem.mend == Mend::kSetCounter;
    if (problems.size() < kProblemsARound) {
      problems.push_back(problem);
    }
  }
  void Progress(uint64_t records) override { sink_.Progress(records); }

  std::vector<NamespaceProblem> problems;
  bool counter_is_wrong = false;

 private:
  RepairSink& sink_;
};

class Repair {
 public:
  Repair(Store& store, const Clock& clock, RepairSink& sink) : store_(store), clock_(clock), sink_(sink) {}

  Task<Result<RepairSummary>> Run() {
    bool go_on = true;
    for (int round = 0; go_on && round < kRoundsMax; ++round) {
      const uint64_t before = summary_.mended;
      const Status done = co_await Round();
      if (!done.ok()) {
        co_return done.error();
      }
      go_on = summary_.mended > before;
    }
    co_return summary_;
  }

 private:
  Task<Status> Round() {
    ProblemCollector found(sink_);
    const Result<NamespaceSummary> checked = co_await CheckNamespace(store_, found);
    if (!checked.ok()) {
      co_return checked.error();
    }
    summary_.last = *checked;
    if (found.problems.empty()) {
      co_return OkStatus();
    }
    std::set<InodeNumber> inodes;
    for (const NamespaceProblem& problem : found.problems) {
      inodes.insert(problem.inode);
    }
    const Result<FoundNames> names =
        co_await FindNames(store_, [&inodes](InodeNumber inode) { return inodes.contains(inode); });
    if (!names.ok()) {
      co_return names.error();
    }
    const uint64_t before = summary_.mended;
    Status status = co_await MendAll(found, *names);
    if (status.ok() && summary_.mended == before) {
      for (const NamespaceProblem& problem : found.problems) {
        sink_.Left(PathOf(*names, problem), problem);
      }
    }
    co_return status;
  }

  Task<Status> MendAll(const ProblemCollector& found, const FoundNames& names) {
    NamespaceMender mender(store_, names, static_cast<int64_t>(clock_.WallNanos()), found.counter_is_wrong);
    for (const NamespaceProblem& problem : found.problems) {
      const Result<std::string> outcome = co_await mender.Apply(problem);
      if (!outcome.ok()) {
        co_return outcome.error();
      }
      if (!outcome->empty()) {
        ++summary_.mended;
        sink_.Mended(PathOf(names, problem), problem, *outcome);
      }
    }
    co_return co_await store_.Sync();
  }

  static std::string PathOf(const FoundNames& names, const NamespaceProblem& problem) {
    return problem.inode.value == 0 ? "/" : names.PathOf(problem.inode);
  }

  Store& store_;
  const Clock& clock_;
  RepairSink& sink_;
  RepairSummary summary_;
};

}  // namespace

Task<Result<RepairSummary>> RepairNamespace(Store& store, const Clock& clock, RepairSink& sink) {
  Repair repair(store, clock, sink);
  co_return co_await repair.Run();
}

}  // namespace varve
