#include "engine/store/check_order.h"

#include <fmt/core.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/internal_key.h"
#include "engine/store/store_at_rest.h"
#include "engine/table/table_reader.h"
#include "engine/version/tree_iterator.h"

namespace varve {

namespace {

struct Source {
  std::string name;
  std::unique_ptr<InternalIterator> iterator;
};

// In the order of reads.
std::vector<Source> SourcesOf(const TableEnvironment& environment, const Version& version) {
  TableIteratorOptions options;
  options.fill_cache = false;
  options.purpose = IoPurpose::kCheck;
  options.sequential = true;
  std::vector<Source> sources;
  const auto add_newest_first = [&](const std::vector<StampedTable>& tables, std::string_view part) {
    for (auto placed = tables.rbegin(); placed != tables.rend(); ++placed) {
      sources.push_back({fmt::format("table {} of {}", (*placed)->id().value, part),
                         NewTableIterator(environment, (*placed)->view(), options)});
    }
  };
  add_newest_first(version.level0(), "level 0");
  for (uint32_t i = 1; i < kLevels; ++i) {
    sources.push_back(
        {fmt::format("the tree of level {}", i), NewTreeIterator(environment, version.tree(i), options)});
    add_newest_first(version.level(i).log, fmt::format("the log of level {}", i));
  }
  return sources;
}

// The source whose key sorts first; sources.size() when all are at their end.
size_t FirstOf(const std::vector<Source>& sources) {
  size_t first = sources.size();
  for (size_t i = 0; i < sources.size(); ++i) {
    if (!sources[i].iterator->Valid()) {
      continue;
    }
    if (first == sources.size() ||
        CompareInternalKeys(sources[i].iterator->key(), sources[first].iterator->key()) < 0) {
      first = i;
    }
  }
  return first;
}

}  // namespace

Task<void> CheckReadOrder(const TableEnvironment& environment, const Version& version,
                          const std::function<void(std::string)>& report) {
  std::vector<Source> sources = SourcesOf(environment, version);
  for (Source& source : sources) {
    const Step step = source.iterator->SeekToFirst();
    if (step == Step::kNeedsIo) {
      co_await source.iterator->Load();
    }
  }
  // Versions of one key come newest first, so each must come from the same place as the one before, or a
  // later one.
  std::string key;
  size_t place = 0;
  bool have_key = false;
  for (size_t at = FirstOf(sources); at != sources.size(); at = FirstOf(sources)) {
    InternalIterator& iterator = *sources[at].iterator;
    const std::string_view user_key = UserKeyOf(iterator.key());
    if (!have_key || user_key != key) {
      key.assign(user_key);
      have_key = true;
    } else if (at < place) {
      report(fmt::format("key {}: {} holds an older version than {}, which is read later", PrintableKey(key),
                         sources[at].name, sources[place].name));
    }
    place = at;
    const Step step = iterator.Next();
    if (step == Step::kNeedsIo) {
      co_await iterator.Load();
    }
  }
  for (const Source& source : sources) {
    const Status status = source.iterator->status();
    if (!status.ok()) {
      report(fmt::format("{}: {}", source.name, status.error().message()));
    }
  }
}

}  // namespace varve
