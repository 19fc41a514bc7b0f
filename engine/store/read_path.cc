#include "engine/store/read_path.h"

#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/units.h"
#include "engine/space/extent.h"
#include "engine/store/covered_run_skipper.h"
#include "engine/store/memtable_iterator.h"
#include "engine/table/merging_iterator.h"
#include "engine/table/table_reader.h"
#include "engine/version/tree_iterator.h"

namespace varve {

namespace {

// One get in this many tells the tables that it asks of itself, and of the others. No power of two: users ask
// in patterns, a name and then what it names, and it is not to be always the same of these.
constexpr uint64_t kGetsACount = 23;

// Two blocks, and what they exceed their nominal size by.
constexpr uint32_t kFirstReadBytes = 10 * kKiB;
// Of all bytes of the store.
constexpr uint64_t kFirstReadShare = 16;

// Of a walk over a whole range: a request of the kernel's for a file's bytes at once.
// Keys, trailers and parts of the index lie between the bytes.
constexpr uint32_t kWholeRangeReadBytes = 1 * kMiB + 128 * kKiB;
// More than a part of the index takes, less than a unit that the table may have given back.
constexpr uint32_t kReadsThroughBytes = 16 * kKiB;
static_assert(kReadsThroughBytes < kExtentUnitBytes);

// What a walk that seeks into a sorted run of `run_bytes` reads first. Of a walk of a few dozen entries a run
// with a fair share of the store's bytes often gives so many that it goes on into a second block: read at
// once with the first that costs hardly more, and saves the walk a wait.
uint32_t FirstReadBytes(uint64_t run_bytes, uint64_t store_bytes) {
  return run_bytes >= store_bytes / kFirstReadShare ? kFirstReadBytes : 0;
}

// The same of a walk that goes on.
uint32_t ShareOfReadahead(uint32_t readahead_bytes, uint64_t run_bytes, uint64_t store_bytes) {
  return static_cast<uint32_t>(ShareOf(run_bytes, store_bytes) * readahead_bytes);
}

// What the memtables know: newest first.
std::optional<MemtableEntry> FindInMemory(const ReadState& state, const PointQuery& query) {
  std::optional<MemtableEntry> found = state.active->memtable.Get(query.user_key, query.snapshot, query.hash);
  for (size_t i = state.immutables.size(); !found && i-- > 0;) {
    found = state.immutables[i]->memtable.Get(query.user_key, query.snapshot, query.hash);
  }
  return found;
}

Store::Lookup AnswerOf(const MemtableEntry& entry, SequenceNumber hidden_below, ReadStates::Pin& state) {
  if (entry.sequence < hidden_below) {
    return std::optional<PinnedValue>();
  }
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
std::optional<Store::Lookup> AnswerOf(Result<TableLookup>& found, SequenceNumber hidden_below, uint32_t level,
                                      ReadSource source, FilterTally& tally) {
  if (!found.ok()) {
    return Store::Lookup(found.error());
  }
  if (source != ReadSource::kBuffer) {
    tally.Add(level, *found);
  }
  if (found->kind == TableLookup::Kind::kAbsent) {
    return std::nullopt;
  }
  tally.AnsweredBy(level, source);
  if (found->kind == TableLookup::Kind::kTombstone || found->sequence < hidden_below) {
    return Store::Lookup(std::optional<PinnedValue>());
  }
  return Store::Lookup(std::optional<PinnedValue>(std::move(found->value)));
}

bool MayHoldAny(const LiveTable& table, std::string_view lower, std::string_view upper) {
  return table.largest_key() >= lower && (upper.empty() || table.smallest_key() < upper);
}

}  // namespace

PointRead::PointRead(const TableEnvironment& tables, ReadStates::Pin state, std::string_view key,
                     SequenceNumber at, HotCounters::Line& counters)
    : tables_(&tables),
      counters_(&counters),
      counts_for_all_(counters.gets.load(std::memory_order_relaxed) % kGetsACount == 0),
      state_(std::move(state)),
      query_(key, at),
      hidden_below_(HasRangeTombstones(*state_) ? HiddenBelow(*state_, key, at) : SequenceNumber(0)),
      order_(*state_->version) {
}

std::optional<Store::Lookup> PointRead::TryMemory() {
  if (const std::optional<MemtableEntry> entry = FindInMemory(*state_, query_)) {
    return AnswerOf(*entry, hidden_below_, state_);
  }
  return SearchTables();
}

void PointRead::FillAhead() {
  std::array<const SegmentDirectories*, kTablesAhead> directories{};
  ahead_at_ = ahead_end_ = 0;
  while (ahead_end_ < kTablesAhead) {
    const TableToAsk next = order_.Next(query_.user_key);
    if (next.table == nullptr) {
      break;
    }
    if (hidden_below_ > SequenceNumber(0) && next.table->view().largest_sequence() < hidden_below_) {
      continue;
    }
    directories[ahead_end_] = &next.table->directories();
    ahead_[ahead_end_++] = next;
  }
  SegmentDirectories::Prefetch({directories.data(), ahead_end_}, query_.hash);
}

bool PointRead::NextTable(size_t& turned_away) {
  while (true) {
    if (ahead_at_ == ahead_end_) {
      FillAhead();
    }
    if (ahead_at_ == ahead_end_) {
      return false;
    }
    asked_ = ahead_[ahead_at_++];
    if (counts_for_all_) {
      asked_.table->CountGet(asked_.beside_tree, kGetsACount);
    }
    turned_away = asked_.table->directories().TurnedAway(query_.hash);
    if (turned_away < asked_.table->view().segments.size()) {
      return true;
    }
    tally_.AddTurnedAway(asked_.level, turned_away);
  }
}

bool PointRead::NextWalk() {
  if (in_buffer()) {
    if (!buffered_.empty()) {
      const LiveTable* const table = buffered_.front();
      buffered_ = buffered_.subspan(1);
      tally_.AddBuffered(asked_.level);
      walk_.emplace(*tables_, table->view(), table->directories());
    } else {
      walk_.emplace(std::move(*gated_));
      gated_.reset();
    }
    return true;
  }
  size_t turned_away = 0;
  if (!NextTable(turned_away)) {
    return false;
  }
  walk_.emplace(*tables_, asked_.table->view(), asked_.table->directories());
  walk_->PassOver(turned_away);
  if (asked_.level != buffer_asked_of_) {
    buffered_ = order_.Buffered(asked_.level, query_.user_key);
    if (!buffered_.empty()) {
      walk_->StopBeforeData();
    }
  }
  return true;
}

std::optional<Store::Lookup> PointRead::SearchTables() {
  std::optional<Store::Lookup> answer;
  while (!answer) {
    if (!walk_ && !NextWalk()) {
      answer.emplace(std::optional<PinnedValue>());
      break;
    }
    if (!walk_->Run(query_)) {
      if (!walk_->stopped_before_data()) {
        return std::nullopt;
      }
      buffer_asked_of_ = asked_.level;
      gated_.emplace(std::move(*walk_));
      walk_.reset();
      continue;
    }
    Result<TableLookup> found = walk_->TakeResult();
    walk_.reset();
    if (in_buffer()) {
      // A damaged view takes nothing away: the level has all that it holds.
      if (!found.ok()) {
        LeaveBuffer();
      } else {
        answer = AnswerOf(found, hidden_below_, asked_.level, ReadSource::kBuffer, tally_);
      }
      continue;
    }
    answer = AnswerOf(found, hidden_below_, asked_.level,
                      asked_.of_log() ? ReadSource::kLog : ReadSource::kTree, tally_);
  }
  tally_.AddTo(*counters_);
  return answer;
}

Task<Store::Lookup> PointRead::Read(CacheFill fill, LookupReadahead& readahead) {
  Check(walk_.has_value(), "a get reads once, and only what memory did not have");
  while (true) {
    Result<BlockRef> block = co_await walk_->ReadWanted(fill, &readahead);
    if (block.ok()) {
      walk_->Provide(std::move(block).value());
    } else if (in_buffer()) {
      walk_.reset();
      LeaveBuffer();
    } else {
      tally_.AddTo(*counters_);
      co_return block.error();
    }
    if (std::optional<Store::Lookup> answer = SearchTables()) {
      co_return std::move(*answer);
    }
  }
}

std::unique_ptr<InternalIterator> NewStateIterator(const TableEnvironment& tables,
                                                   BackgroundReads& background, const ReadState& state,
                                                   SequenceNumber at, std::string_view lower,
                                                   std::string_view upper, const ReadOptions& read) {
  TableIteratorOptions options;
  options.last_key = upper;
  options.background = read.is_short ? nullptr : &background;
  options.goes_on = read.goes_on;
  options.marks = read.marks;
  options.fill_cache = read.fill_cache && !read.keeps_value;
  options.fill_index = read.fill_cache;
  options.pass_over_damage = read.pass_over_damage;
  options.outlines = read.outlines;
  const uint64_t store_bytes = state.version->totals().total_bytes;
  if (read.whole_range) {
    options.readahead_bytes = kWholeRangeReadBytes;
    options.reads_through_bytes = kReadsThroughBytes;
    options.stretch_bytes = read.stretch_bytes;
  }
  const auto set_first_read = [&](uint64_t run_bytes) {
    if (read.whole_range) {
      options.first_read_bytes = options.readahead_bytes;
      return;
    }
    options.first_read_bytes = read.goes_on
                                   ? ShareOfReadahead(options.readahead_bytes, run_bytes, store_bytes)
                                   : FirstReadBytes(run_bytes, store_bytes);
  };
  std::vector<std::unique_ptr<InternalIterator>> sources;
  const bool skips = HasRangeTombstones(state);
  const auto add_source = [&](std::unique_ptr<InternalIterator> source, const auto& tables_of_it) {
    if (skips) {
      source = std::make_unique<CoveredRunSkipper>(std::move(source), CoveredRun(tables_of_it),
                                                   WalkCovers(state, at));
    }
    sources.push_back(std::move(source));
  };
  const auto add_run = [&](const SortedTables& run, bool beside_tree) {
    const SortedTables::Cursor first = run.Seek(lower);
    if (first.Valid() && MayHoldAny(*first, lower, upper)) {
      set_first_read(run.totals().total_bytes);
      add_source(NewTreeIterator(tables, run, options, beside_tree), run);
    }
  };
  sources.push_back(std::make_unique<MemtableSource>(state.active->memtable));
  for (const std::shared_ptr<HeldMemtable>& held : state.immutables) {
    sources.push_back(std::make_unique<MemtableSource>(held->memtable));
  }
  for (const StampedTable& placed : state.version->level0()) {
    if (MayHoldAny(*placed.table, lower, upper)) {
      placed->CountSeek(true);
      set_first_read(placed->total_bytes());
      add_source(NewTableIterator(tables, placed->view(), options), *placed.table);
    }
  }
  for (uint32_t i = 1; i < kLevels; i++) {
    const Level& level = state.version->level(i);
    add_run(level.tree, false);
    for (const SortedTables& run : level.log_index.runs()) {
      add_run(run, true);
    }
  }
  return NewMergingIterator(std::move(sources), upper);
}

}  // namespace varve
