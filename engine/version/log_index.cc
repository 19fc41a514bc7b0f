#include "engine/version/log_index.h"

#include <algorithm>
#include <utility>

#include "engine/version/tables_by_key.h"

namespace varve {

namespace {

using SharedTables = std::vector<std::shared_ptr<const LiveTable>>;

// Of intervals in the order of their beginnings, each goes to the first run that has ended before it: another
// run is begun only where all that there are cover one key.
std::vector<SharedTables> IntoRuns(const std::vector<StampedTable>& log) {
  SharedTables by_key;
  by_key.reserve(log.size());
  for (const StampedTable& placed : log) {
    by_key.push_back(placed.table);
  }
  std::sort(by_key.begin(), by_key.end(),
            [](const auto& a, const auto& b) { return a->smallest_key() < b->smallest_key(); });
  std::vector<SharedTables> runs;
  for (std::shared_ptr<const LiveTable>& table : by_key) {
    auto run = std::find_if(runs.begin(), runs.end(), [&](const SharedTables& candidate) {
      return candidate.back()->largest_key() < table->smallest_key();
    });
    if (run == runs.end()) {
      run = runs.emplace(runs.end());
    }
    run->push_back(std::move(table));
  }
  return runs;
}

}  // namespace

struct LogIndex::Content {
  // They hold the tables.
  std::vector<SortedTables> runs;
  TablesByKey by_key;
};

LogIndex::LogIndex(const std::vector<StampedTable>& log) {
  if (log.empty()) {
    return;
  }
  auto content = std::make_shared<Content>();
  for (SharedTables& run : IntoRuns(log)) {
    content->runs.push_back(SortedTables().Edited({}, std::move(run)).value());
  }
  std::vector<TablesByKey::Stretch> stretches;
  stretches.reserve(log.size());
  for (size_t i = 0; i < log.size(); ++i) {
    stretches.push_back(
        {{log[i]->smallest_key(), false}, {log[i]->largest_key(), true}, i, log[i].table.get()});
  }
  content->by_key = TablesByKey(stretches);
  content_ = std::move(content);
}

std::span<const LiveTable* const> LogIndex::At(std::string_view user_key) const {
  return content_ == nullptr ? std::span<const LiveTable* const>() : content_->by_key.At(user_key);
}

std::span<const SortedTables> LogIndex::runs() const {
  return content_ == nullptr ? std::span<const SortedTables>() : std::span(content_->runs);
}

bool LogIndex::AnyOverlaps(const KeyRangeView& range) const {
  return std::any_of(runs().begin(), runs().end(),
                     [&](const SortedTables& run) { return run.AnyOverlaps(range); });
}

}  // namespace varve
