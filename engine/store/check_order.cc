#include "engine/store/check_order.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/internal_key.h"
#include "engine/store/store_at_rest.h"
#include "engine/table/table_reader.h"
#include "engine/version/tree_iterator.h"

namespace varve {

namespace {

// Tables that are walked one after the other: one of level 0, a Tree, or a run of a Log.
struct Source {
  std::string name;
  std::unique_ptr<InternalIterator> iterator;
  // Counted in the order of reads. The runs of a Log have the same: it depends on the key which of them holds
  // the newer table.
  size_t part;
  // Of a run of a Log.
  const LogIndex* log = nullptr;
  const SortedTables* run = nullptr;
  // Of a Tree, and of a table of level 0.
  const SortedTables* tree = nullptr;
  const LiveTable* table = nullptr;
};

const LiveTable* TableAt(const Source& source, std::string_view user_key) {
  if (source.table != nullptr) {
    return source.table;
  }
  return (source.run != nullptr ? source.run : source.tree)->Find(user_key);
}

// Where a read of `user_key` comes to the source: its part, and how many tables of its Log come before.
std::pair<size_t, size_t> PlaceOf(const Source& source, std::string_view user_key) {
  if (source.log == nullptr) {
    return {source.part, 0};
  }
  const std::span<const LiveTable* const> tables = source.log->At(user_key);
  const auto table = std::find(tables.begin(), tables.end(), source.run->Find(user_key));
  return {source.part, static_cast<size_t>(table - tables.begin())};
}

std::string NameOf(const Source& source, std::string_view user_key) {
  const LiveTable* const table = source.run == nullptr ? nullptr : source.run->Find(user_key);
  return table == nullptr ? source.name : fmt::format("table {} of {}", table->id().value, source.name);
}

// In the order of reads.
std::vector<Source> SourcesOf(const TableEnvironment& environment, const Version& version) {
  TableIteratorOptions options;
  options.fill_cache = false;
  options.purpose = IoPurpose::kCheck;
  options.sequential = true;
  std::vector<Source> sources;
  size_t part = 0;
  for (auto placed = version.level0().rbegin(); placed != version.level0().rend(); ++placed) {
    sources.push_back({fmt::format("table {} of level 0", (*placed)->id().value),
                       NewTableIterator(environment, (*placed)->view(), options), part++});
    sources.back().table = placed->table.get();
  }
  for (uint32_t i = 1; i < kLevels; ++i) {
    sources.push_back({fmt::format("the tree of level {}", i),
                       NewTreeIterator(environment, version.tree(i), options), part++});
    sources.back().tree = &version.tree(i);
    const LogIndex& log = version.level(i).log_index;
    for (const SortedTables& run : log.runs()) {
      sources.push_back({fmt::format("the log of level {}", i), NewTreeIterator(environment, run, options),
                         part, &log, &run});
    }
    part++;
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

// A table that is purged up to a number holds nothing that range tombstones up to it hide: they may leave the
// Version.
void CheckPurged(const Source& source, const Version& version, std::string_view internal_key,
                 const std::function<void(std::string)>& report) {
  const RangeTombstones* const tombstones = version.range_tombstones();
  const std::string_view user_key = UserKeyOf(internal_key);
  const LiveTable* const table = tombstones == nullptr ? nullptr : TableAt(source, user_key);
  if (table == nullptr) {
    return;
  }
  const SequenceNumber newest = tombstones->NewestAt(user_key, table->view().purged_up_to);
  if (newest > SequenceOf(internal_key)) {
    report(
        fmt::format("key {}: table {} holds version {}, though it is purged of what range tombstone {} hides",
                    PrintableKey(user_key), table->id().value, SequenceOf(internal_key).value, newest.value));
  }
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
  // Versions of one key come newest first, so each must come from the same place as the one before it, or a
  // later one.
  std::string key;
  size_t before = 0;
  bool have_key = false;
  for (size_t at = FirstOf(sources); at != sources.size(); at = FirstOf(sources)) {
    InternalIterator& iterator = *sources[at].iterator;
    const std::string_view user_key = UserKeyOf(iterator.key());
    if (!have_key || user_key != key) {
      key.assign(user_key);
      have_key = true;
    } else if (at != before && PlaceOf(sources[at], key) < PlaceOf(sources[before], key)) {
      report(fmt::format("key {}: {} holds an older version than {}, which is read later", PrintableKey(key),
                         NameOf(sources[at], key), NameOf(sources[before], key)));
    }
    before = at;
    CheckPurged(sources[at], version, iterator.key(), report);
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
