#include "engine/store/read_path.h"

#include <utility>
#include <vector>

#include "engine/store/memtable_iterator.h"
#include "engine/store/read_order.h"
#include "engine/table/merging_iterator.h"

namespace varve {

namespace {

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
std::optional<Store::Lookup> AnswerOf(Result<TableLookup>& found) {
  if (!found.ok()) {
    return Store::Lookup(found.error());
  }
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

// Yields the tables of one disjoint level in key order as if they were one source, so that a merge compares
// one key for a level, however many tables it has.
class LevelSource final : public InternalIterator {
 public:
  LevelSource(const TableEnvironment& tables, const SortedTables& tree, TableIteratorOptions options)
      : tables_(tables), tree_(tree), options_(options), at_(tree.First()) {}

  Step Seek(std::string_view internal_key) override {
    forward_ = true;
    at_ = tree_.Seek(UserKeyOf(internal_key));
    return Open() ? After(table_->Seek(internal_key)) : Step::kDone;
  }
  Step SeekForPrev(std::string_view internal_key) override {
    forward_ = false;
    at_ = tree_.Seek(UserKeyOf(internal_key));
    if (!at_.Valid() && !tree_.empty()) {
      at_ = tree_.Last();
    }
    return Open() ? After(table_->SeekForPrev(internal_key)) : Step::kDone;
  }
  Step SeekToFirst() override {
    forward_ = true;
    at_ = tree_.First();
    return Open() ? After(table_->SeekToFirst()) : Step::kDone;
  }
  Step SeekToLast() override {
    forward_ = false;
    at_ = tree_.Last();
    return Open() ? After(table_->SeekToLast()) : Step::kDone;
  }
  Step Next() override {
    forward_ = true;
    return After(table_->Next());
  }
  Step Prev() override {
    forward_ = false;
    return After(table_->Prev());
  }
  Task<void> Load() override {
    Step step = Step::kNeedsIo;
    while (step == Step::kNeedsIo) {
      co_await table_->Load();
      step = After(Step::kDone);
    }
  }

  bool Valid() const override { return table_ != nullptr && table_->Valid(); }
  std::string_view key() const override { return table_->key(); }
  std::string_view value() const override { return table_->value(); }
  Status status() const override { return table_ != nullptr ? table_->status() : OkStatus(); }

 private:
  bool Open() {
    if (!at_.Valid()) {
      table_.reset();
      opened_ = nullptr;
      return false;
    }
    if (opened_ != &*at_) {
      opened_ = &*at_;
      table_ = NewTableIterator(tables_, opened_->view(), options_);
    }
    return true;
  }
  // Past the end of one table the walk goes on in its neighbour.
  Step After(Step step) {
    while (step == Step::kDone && !table_->Valid() && table_->status().ok()) {
      if (forward_) {
        at_.Next();
      } else {
        at_.Prev();
      }
      if (!Open()) {
        return Step::kDone;
      }
      step = forward_ ? table_->SeekToFirst() : table_->SeekToLast();
    }
    return step;
  }

  const TableEnvironment& tables_;
  const SortedTables& tree_;
  const TableIteratorOptions options_;
  SortedTables::Cursor at_;
  const LiveTable* opened_ = nullptr;
  std::unique_ptr<InternalIterator> table_;
  bool forward_ = true;
};

bool MayHoldAny(const LiveTable& table, std::string_view lower, std::string_view upper) {
  return table.largest_key() >= lower && (upper.empty() || table.smallest_key() < upper);
}

}  // namespace

std::optional<Store::Lookup> TryGetFrom(const TableEnvironment& tables, ReadStates::Pin& state,
                                        const PointQuery& query) {
  if (const std::optional<MemtableEntry> entry = FindInMemory(*state, query)) {
    return AnswerOf(*entry, state);
  }
  TableReadOrder order(*state->version, query.user_key);
  while (const LiveTable* const table = order.Next()) {
    std::optional<Result<TableLookup>> found = TryGetFromTable(tables, table->view(), query);
    if (!found) {
      return std::nullopt;
    }
    if (std::optional<Store::Lookup> answer = AnswerOf(*found)) {
      return answer;
    }
  }
  return Store::Lookup(std::optional<PinnedValue>());
}

Task<Store::Lookup> GetFrom(const TableEnvironment& tables, ReadStates::Pin state, PointQuery query,
                            bool fill_cache) {
  if (const std::optional<MemtableEntry> entry = FindInMemory(*state, query)) {
    co_return AnswerOf(*entry, state);
  }
  TableReadOrder order(*state->version, query.user_key);
  while (const LiveTable* const table = order.Next()) {
    std::optional<Result<TableLookup>> found = TryGetFromTable(tables, table->view(), query);
    if (!found) {
      Result<TableLookup> loaded = co_await GetFromTable(tables, table->view(), query, fill_cache);
      found.emplace(std::move(loaded));
    }
    std::optional<Store::Lookup> answer = AnswerOf(*found);
    if (answer) {
      co_return std::move(*answer);
    }
  }
  co_return Store::Lookup(std::optional<PinnedValue>());
}

std::unique_ptr<InternalIterator> NewStateIterator(const TableEnvironment& tables, const ReadState& state,
                                                   std::string_view lower, std::string_view upper,
                                                   bool fill_cache) {
  TableIteratorOptions options;
  options.fill_cache = fill_cache;
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
      sources.push_back(std::make_unique<LevelSource>(tables, level.tree, options));
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
