#include "engine/store/scrub.h"

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "engine/store/store_impl.h"
#include "engine/table/table_reader.h"

namespace varve {

namespace {

class Scrubbing final : private TableVerifierObserver {
 public:
  Scrubbing(const TableEnvironment& tables, VersionSet& versions, ScrubObserver& observer)
      : tables_(tables), versions_(versions), observer_(observer) {}

  Task<Result<ScrubSummary>> Run() {
    Result<std::vector<std::string>> structure = co_await versions_.VerifyOnDevice();
    if (!structure.ok()) {
      co_return structure.error();
    }
    for (std::string& problem : *structure) {
      Report({std::move(problem), std::nullopt});
    }
    // Weakly: a scrub of hours must not keep the space of all tables that merges replace meanwhile.
    const std::vector<std::weak_ptr<const LiveTable>> tables = LiveNow();
    for (const std::weak_ptr<const LiveTable>& weak : tables) {
      const std::shared_ptr<const LiveTable> table = weak.lock();
      if (table == nullptr) {
        ++summary_.tables_gone;
        continue;
      }
      const Status verified = co_await VerifyTable(tables_, table->view(), *this);
      if (!verified.ok()) {
        co_return verified.error();
      }
      ++summary_.tables;
      summary_.table_bytes += table->view().held_bytes();
      observer_.OnProgress(summary_.table_bytes, total_bytes_);
    }
    co_return summary_;
  }

 private:
  std::vector<std::weak_ptr<const LiveTable>> LiveNow() {
    std::vector<std::weak_ptr<const LiveTable>> tables;
    std::set<std::pair<uint64_t, uint64_t>> seen;
    const std::shared_ptr<const Version> version = versions_.current();
    version->ForEachSharedTable([&](const std::shared_ptr<const LiveTable>& table) {
      if (seen.emplace(table->id().value, table->generation().value).second) {
        tables.push_back(table);
        total_bytes_ += table->view().held_bytes();
      }
    });
    return tables;
  }

  void Report(StoreProblem problem) {
    ++summary_.problems;
    observer_.OnProblem(std::move(problem));
  }
  void OnFault(TableFault fault) override { Report({std::move(fault.what), std::move(fault.keys)}); }
  Task<Status> BeforeRead(uint64_t bytes) override { return observer_.BeforeRead(bytes); }

  const TableEnvironment& tables_;
  VersionSet& versions_;
  ScrubObserver& observer_;
  ScrubSummary summary_;
  uint64_t total_bytes_ = 0;
};

}  // namespace

Task<Result<ScrubSummary>> StoreImpl::Scrub(ScrubObserver& observer) {
  Scrubbing scrubbing(*tables_, *versions_, observer);
  co_return co_await scrubbing.Run();
}

}  // namespace varve
