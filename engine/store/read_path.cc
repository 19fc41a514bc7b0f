#include "engine/store/read_path.h"

#include <utility>
#include <vector>

#include "engine/store/memtable_iterator.h"
#include "engine/store/read_order.h"
#include "engine/table/merging_iterator.h"
#include "engine/version/tree_iterator.h"

namespace varve {

namespace {

// Two blocks, and what they exceed their nominal size by.
constexpr uint32_t kDeepestFirstReadBytes = 10 * kKiB;

// What the memtables know: newest first.
std::optional<MemtableEntry> FindInMemory(const ReadState& state, const PointQuery& query) {
  std::optional<MemtableEntry> found = state.active->memtable.Get(query.user_key, query.snapshot, query.hash);
  for (size_t i = state.immutables.size(); !found && i-- > 0;) {
    found = state.immutables[i]->memtable.Get(query.user_key, query.snapshot, query.hash);
  }
  return found;
}

Store::Lookup AnswerOf(const MemtableEntry& entry, ReadStates::Pin& state) {
  switch (entry.kind) {
    case RecordKind::kValue:
      return std::optional<PinnedValue>(std::move(state).PinBytes(entry.value));
    case RecordKind::kTombstone:
      return std::optional<PinnedValue>();
    case RecordKind::kRangeTombstone:
    case RecordKind::kLargeValuePointer:
      break;
  }
  return Unsupported("a record of a kind that this version does not know");
}

// nullopt: the table does not hold the key, go on.
std::optional<Store::Lookup> AnswerOf(Result<TableLookup>& found, uint32_t level, FilterTally& tally) {
  if (!found.ok()) {
    return Store::Lookup(found.error());
  }
  tally.Add(level, *found);
  switch (found->kind) {
    case TableLookup::Kind::kAbsent:
      return std::nullopt;
    case TableLookup::Kind::kTombstone:
      return Store::Lookup(std::optional<PinnedValue>());
    case TableLookup::Kind::kValue:
      break;
  }
  return Store::Lookup(std::optional<PinnedValue>(std::move(found->value)));
}

bool MayHoldAny(const LiveTable& table, std::string_view lower, std::string_view upper) {
  return table.largest_key() >= lower && (upper.empty() || table.smallest_key() < upper);
}

}  // namespace

std::optional<Store::Lookup> TryGetFrom(const TableEnvironment& tables, ReadStates::Pin& state,
                                        const PointQuery& query, HotCounters::Line& counters) {
  if (const std::optional<MemtableEntry> entry = FindInMemory(*state, query)) {
    return AnswerOf(*entry, state);
  }
  FilterTally tally;
  std::optional<Store::Lookup> answer;
  TableReadOrder order(*state->version, query.user_key);
  while (const LiveTable* const table = order.Next()) {
    std::optional<Result<TableLookup>> found = TryGetFromTable(tables, table->view(), query);
    if (!found) {
      return std::nullopt;
    }
    answer = AnswerOf(*found, order.level(), tally);
    if (answer) {
      break;
    }
  }
  tally.AddTo(counters);
  return answer ? std::move(answer) : Store::Lookup(std::optional<PinnedValue>());
}

Task<Store::Lookup> GetFrom(const TableEnvironment& tables, ReadStates::Pin state, PointQuery query,
                            bool fill_cache, HotCounters::Line& counters) {
  if (const std::optional<MemtableEntry> entry = FindInMemory(*state, query)) {
    co_return AnswerOf(*entry, state);
  }
  FilterTally tally;
  std::optional<Store::Lookup> answer;
  TableReadOrder order(*state->version, query.user_key);
  while (const LiveTable* const table = order.Next()) {
    Result<TableLookup> found = co_await GetFromTable(tables, table->view(), query, fill_cache);
    answer = AnswerOf(found, order.level(), tally);
    if (answer) {
      break;
    }
  }
  tally.AddTo(counters);
  co_return answer ? std::move(*answer) : Store::Lookup(std::optional<PinnedValue>());
}

std::unique_ptr<InternalIterator> NewStateIterator(const TableEnvironment& tables, const ReadState& state,
                                                   std::string_view lower, std::string_view upper,
                                                   const ReadOptions& read) {
  TableIteratorOptions options;
  options.fill_cache = read.fill_cache;
  options.pass_over_damage = read.pass_over_damage;
  std::vector<std::unique_ptr<InternalIterator>> sources;
  sources.push_back(std::make_unique<MemtableSource>(state.active->memtable));
  for (const std::shared_ptr<HeldMemtable>& held : state.immutables) {
    sources.push_back(std::make_unique<MemtableSource>(held->memtable));
  }
  for (const StampedTable& placed : state.version->level0()) {
    if (MayHoldAny(*placed.table, lower, upper)) {
      sources.push_back(NewTableIterator(tables, placed.table->view(), options));
    }
  }
  for (uint32_t i = 1; i < kLevels; i++) {
    const Level& level = state.version->level(i);
    if (!level.tree.empty()) {
      TableIteratorOptions of_tree = options;
      // Most entries of a walk come from the deepest level, and a walk of a few dozen goes on into its second
      // block: read at once with the first it costs hardly more.
      of_tree.first_read_bytes = i == state.version->last_level() ? kDeepestFirstReadBytes : 0;
      sources.push_back(NewTreeIterator(tables, level.tree, of_tree));
    }
    for (const StampedTable& placed : level.log) {
      if (MayHoldAny(*placed.table, lower, upper)) {
        sources.push_back(NewTableIterator(tables, placed.table->view(), options));
      }
    }
  }
  return NewMergingIterator(std::move(sources));
}

}  // namespace varve
