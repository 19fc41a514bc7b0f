#include "engine/sst_log/log_groups.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/base/units.h"

namespace varve {

double LogGroup::Cost() const {
  return ShareOf(child_bytes, input_bytes);
}

LogGroups::LogGroups(const Version& version, const BusySet& busy, uint32_t level)
    : log_(version.level(level).log), spans_(log_.size()), busy_(log_.size()) {
  RankEnds();
  FindChildren(version.tree(level + 1));
  Close(busy);
}

void LogGroups::RankEnds() {
  std::vector<std::string_view> ends;
  for (const StampedTable& placed : log_) {
    ends.push_back(placed->smallest_key());
    ends.push_back(placed->largest_key());
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  const auto rank = [&](std::string_view key) {
    return static_cast<size_t>(std::lower_bound(ends.begin(), ends.end(), key) - ends.begin());
  };
  for (size_t i = 0; i < log_.size(); ++i) {
    spans_[i].low = rank(log_[i]->smallest_key());
    spans_[i].high = rank(log_[i]->largest_key());
  }
}

void LogGroups::FindChildren(const SortedTables& below) {
  std::vector<const LiveTable*> children;
  child_bytes_before_.push_back(0);
  for (SortedTables::Cursor cursor = below.First(); cursor.Valid(); cursor.Next()) {
    children.push_back(&*cursor);
    child_bytes_before_.push_back(child_bytes_before_.back() + cursor->valid_bytes());
  }
  for (size_t i = 0; i < log_.size(); ++i) {
    const auto first = std::lower_bound(
        children.begin(), children.end(), log_[i]->smallest_key(),
        [](const LiveTable* child, std::string_view key) { return child->largest_key() < key; });
    const auto end = std::upper_bound(
        first, children.end(), log_[i]->largest_key(),
        [](std::string_view key, const LiveTable* child) { return key < child->smallest_key(); });
    spans_[i].first_child = static_cast<size_t>(first - children.begin());
    spans_[i].end_child = static_cast<size_t>(end - children.begin());
  }
}

void LogGroups::Close(const BusySet& busy) {
  for (size_t i = 0; i < log_.size(); ++i) {
    busy_[i] = busy.Holds(log_[i]->id());
    LogGroup closure;
    closure.members.resize(log_.size());
    closure.members[i] = true;
    for (size_t older = 0; older < i; ++older) {
      if (!closure.members[older] && spans_[older].low <= spans_[i].high &&
          spans_[i].low <= spans_[older].high) {
        for (size_t j = 0; j <= older; ++j) {
          closure.members[j] = closure.members[j] || closures_[older].members[j];
        }
      }
    }
    Sum(closure);
    closures_.push_back(std::move(closure));
  }
}

void LogGroups::Sum(LogGroup& group) const {
  group.low = SIZE_MAX;
  group.high = 0;
  group.input_bytes = 0;
  group.any_busy = false;
  size_t first_child = SIZE_MAX;
  size_t end_child = 0;
  for (size_t i = 0; i < log_.size(); ++i) {
    if (group.members[i]) {
      const Span& span = spans_[i];
      group.low = std::min(group.low, span.low);
      group.high = std::max(group.high, span.high);
      group.input_bytes += log_[i]->valid_bytes();
      group.any_busy = group.any_busy || busy_[i];
      first_child = std::min(first_child, span.first_child);
      end_child = std::max(end_child, span.end_child);
    }
  }
  group.child_bytes =
      first_child < end_child ? child_bytes_before_[end_child] - child_bytes_before_[first_child] : 0;
}

LogGroup LogGroups::Joined(const LogGroup& a, const LogGroup& b) const {
  LogGroup joined = a;
  for (size_t i = 0; i < log_.size(); ++i) {
    joined.members[i] = joined.members[i] || b.members[i];
  }
  Sum(joined);
  return joined;
}

LogGroup LogGroups::Grown(LogGroup group, uint64_t bytes_max) const {
  while (true) {
    std::optional<LogGroup> best;
    for (size_t i = 0; i < log_.size(); ++i) {
      if (group.members[i] || spans_[i].low > group.high || spans_[i].high < group.low) {
        continue;
      }
      LogGroup larger = Joined(group, closures_[i]);
      const bool fits = !larger.any_busy && larger.input_bytes + larger.child_bytes <= bytes_max;
      if (fits && larger.Cost() < (best ? *best : group).Cost()) {
        best = std::move(larger);
      }
    }
    if (!best) {
      return group;
    }
    group = std::move(*best);
  }
}

std::vector<LogGroup> LogGroups::Ranked(size_t count, uint64_t bytes_max) const {
  std::vector<LogGroup> seeds;
  const auto take = [&](bool any_size) {
    for (const LogGroup& closure : closures_) {
      if (!closure.any_busy && (any_size || closure.input_bytes + closure.child_bytes <= bytes_max)) {
        seeds.push_back(closure);
      }
    }
  };
  take(false);
  if (seeds.empty()) {
    take(true);
  }
  const auto cheaper = [](const LogGroup& a, const LogGroup& b) { return a.Cost() < b.Cost(); };
  std::stable_sort(seeds.begin(), seeds.end(), cheaper);
  seeds.resize(std::min(seeds.size(), count));
  for (LogGroup& seed : seeds) {
    seed = Grown(std::move(seed), bytes_max);
  }
  std::stable_sort(seeds.begin(), seeds.end(), cheaper);
  return seeds;
}

std::vector<std::shared_ptr<const LiveTable>> LogGroups::TablesOf(const LogGroup& group) const {
  std::vector<std::shared_ptr<const LiveTable>> tables;
  for (size_t i = 0; i < log_.size(); ++i) {
    if (group.members[i]) {
      tables.push_back(log_[i].table);
    }
  }
  return tables;
}

}  // namespace varve
