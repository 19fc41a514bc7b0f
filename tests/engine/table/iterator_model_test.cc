// Tables of several segments, walked and asked at random, against std::map.
#include <gtest/gtest.h>

#include "engine/base/prng.h"
#include "engine/table/block_reader.h"
#include "engine/table/merging_iterator.h"
#include "engine/table/segment_layout.h"
#include "tests/engine/table/table_fixture.h"

namespace varve {
namespace {

struct Model {
  Entries entries;
  uint64_t next_sequence = 1;
  std::vector<std::string> user_keys;
};

std::string RandomUserKey(Prng& prng) {
  // Few bytes and few values, so that keys share prefixes, are prefixes of each other, and meet again.
  std::string key;
  for (uint64_t length = prng.Below(9); length > 0; --length) {
    key.push_back(static_cast<char>(prng.OneIn(8) ? prng.Below(256) : 'a' + prng.Below(3)));
  }
  // Some that an index shortens.
  if (prng.OneIn(3)) {
    key += std::string(40, prng.OneIn(2) ? 'b' : '\xff') + static_cast<char>('a' + prng.Below(3));
  }
  return key;
}

Entries RandomSegment(Prng& prng, Model& model, uint64_t count) {
  Entries segment;
  while (segment.size() < count) {
    const std::string user_key = RandomUserKey(prng);
    const bool tombstone = prng.OneIn(6);
    const std::string key = InternalKeyOf(user_key, model.next_sequence++,
                                          tombstone ? RecordKind::kTombstone : RecordKind::kValue);
    const uint64_t bytes = prng.OneIn(50) ? prng.Below(6000) : prng.Below(60);
    segment[key] = tombstone ? "" : std::string(bytes, static_cast<char>('a' + prng.Below(26)));
    model.user_keys.push_back(user_key);
  }
  model.entries.insert(segment.begin(), segment.end());
  return segment;
}

// The next generation of a table of one segment. Of each block some user keys stay, in one span or in
// several; some are written anew, with all their versions; some are dropped, also from the model.
class RandomMend {
 public:
  RandomMend(TableFixture& fixture, const TableView& view, Prng& prng, Model& model)
      : fixture_(fixture),
        view_(view),
        prng_(prng),
        model_(model),
        writer_(fixture.device, fixture.source, IoPurpose::kCompaction, view.extents, view.used_bytes,
                64 * kKiB),
        segment_(fixture.environment, view.id, view.generation.Next(), 0, writer_, SegmentOptions()) {
    segment_.MendSegment(view.segments.front());
  }

  Result<TableView> Run() {
    const SegmentLayout layout =
        fixture_.Run(ReadSegmentLayout(fixture_.environment, view_, 0, IoPurpose::kCompaction)).value();
    for (const IndexEntry& entry : layout.blocks) {
      prng_.OneIn(3) ? Keep(entry) : Split(entry);
    }
    // An empty table is none.
    AddBehindAll();
    Result<MendedFilter> filter =
        fixture_.Run(MendFilter(fixture_.environment, view_, layout.filter, layout.filter_pages,
                                segment_.hashes(), IoPurpose::kCompaction));
    if (!filter.ok()) {
      return filter.error();
    }
    TableView next = view_;
    next.generation = view_.generation.Next();
    next.segments.front() =
        segment_.FinishMended(std::move(filter).value(), kept_tombstones_,
                              view_.live_bytes() - std::min(left_bytes_, view_.live_bytes()));
    const Status written = fixture_.Run(writer_.Finish());
    if (!written.ok()) {
      return written.error();
    }
    next.smallest = next.segments.front().smallest_user_key();
    next.largest = next.segments.front().largest_user_key();
    next.extents = writer_.extents();
    next.used_bytes = writer_.used_bytes();
    return next;
  }

 private:
  void Keep(const IndexEntry& entry) {
    for (auto at = First(entry.smallest); at != model_.entries.end() && UserKeyOf(at->first) <= entry.largest;
         ++at) {
      CountKept(at->first);
    }
    segment_.Keep(entry, entry.is_span ? IndexKeyBytes::All() : IndexKeyBytes());
  }

  void Split(const IndexEntry& entry) {
    std::optional<IndexEntry> span;
    const auto end_span = [&] {
      if (span) {
        segment_.Keep(*span, IndexKeyBytes::All());
        span.reset();
      }
    };
    std::vector<std::string> dropped;
    auto at = First(entry.smallest);
    while (at != model_.entries.end() && UserKeyOf(at->first) <= entry.largest) {
      const std::string user_key(UserKeyOf(at->first));
      const uint64_t fate = prng_.Below(12);
      const bool is_replaced = fate == 0;
      const bool is_dropped = fate == 1;
      if (is_replaced || is_dropped || fate == 2) {
        end_span();
      }
      for (; at != model_.entries.end() && UserKeyOf(at->first) == user_key; ++at) {
        if (is_replaced || is_dropped) {
          left_bytes_ += at->first.size() + at->second.size();
        }
        if (is_replaced) {
          segment_.Add(at->first, at->second);
        } else if (is_dropped) {
          dropped.push_back(at->first);
        } else {
          if (!span) {
            span = entry;
            span->is_span = true;
            span->smallest = user_key;
            span->entries = 0;
          }
          span->largest = user_key;
          ++span->entries;
          CountKept(at->first);
        }
      }
    }
    end_span();
    for (const std::string& key : dropped) {
      model_.entries.erase(key);
    }
  }

  Entries::iterator First(std::string_view user_key) {
    return model_.entries.lower_bound(SeekKey(user_key, kSequenceNumberMax));
  }
  void CountKept(std::string_view internal_key) {
    kept_tombstones_ += KindOf(internal_key) == RecordKind::kTombstone ? 1 : 0;
  }
  void AddBehindAll() {
    const std::string key =
        InternalKeyOf(std::string(50, '\xff') + NumberedKey(view_.generation.value), model_.next_sequence++);
    segment_.Add(key, "the last");
    model_.entries[key] = "the last";
  }

  TableFixture& fixture_;
  const TableView& view_;
  Prng& prng_;
  Model& model_;
  TableWriter writer_;
  SegmentBuilder segment_;
  uint64_t kept_tombstones_ = 0;
  // Keys and values that no span keeps.
  uint64_t left_bytes_ = 0;
};

void ExpectLookupsToAgree(TableFixture& fixture, const TableView& view, const Model& model, Prng& prng) {
  for (int i = 0; i < 300; ++i) {
    const std::string user_key =
        prng.OneIn(3) ? RandomUserKey(prng) : model.user_keys[prng.Below(model.user_keys.size())];
    const uint64_t snapshot = prng.OneIn(2) ? kSequenceNumberMax.value : prng.Below(model.next_sequence);
    const auto expected = model.entries.lower_bound(SeekKey(user_key, SequenceNumber(snapshot)));
    const bool present = expected != model.entries.end() && UserKeyOf(expected->first) == user_key;
    const Result<TableLookup> found = fixture.Get(view, user_key, snapshot, prng.OneIn(2));
    ASSERT_TRUE(found.ok()) << found.ToString();
    if (!present) {
      ASSERT_EQ(found->kind, TableLookup::Kind::kAbsent);
      continue;
    }
    ASSERT_EQ(found->sequence, SequenceOf(expected->first));
    if (KindOf(expected->first) == RecordKind::kTombstone) {
      ASSERT_EQ(found->kind, TableLookup::Kind::kTombstone);
    } else {
      ASSERT_EQ(found->kind, TableLookup::Kind::kValue);
      ASSERT_EQ(found->value.bytes(), expected->second);
    }
  }
}

// One random move of both; afterwards both stand on the same entry, or on none.
void MoveBoth(TableFixture& fixture, InternalIterator& iterator, const Entries& entries,
              std::optional<Entries::const_iterator>& at, Prng& prng) {
  const auto random_key = [&] {
    return InternalKeyOf(RandomUserKey(prng), prng.Below(3000),
                         prng.OneIn(2) ? RecordKind::kValue : RecordKind::kTombstone);
  };
  const uint64_t move = at ? prng.Below(20) : prng.Below(4);
  if (move == 0) {
    const std::string key = random_key();
    fixture.Finish(iterator, iterator.Seek(key));
    at = entries.lower_bound(key);
  } else if (move == 1) {
    const std::string key = random_key();
    fixture.Finish(iterator, iterator.SeekForPrev(key));
    at = entries.upper_bound(key);
    if (*at == entries.begin()) {
      at.reset();
    } else {
      --*at;
    }
  } else if (move == 2) {
    fixture.Finish(iterator, iterator.SeekToFirst());
    at = entries.begin();
  } else if (move == 3) {
    fixture.Finish(iterator, iterator.SeekToLast());
    at = std::prev(entries.end());
  } else if (move < 13) {
    fixture.Finish(iterator, iterator.Next());
    ++*at;
  } else {
    fixture.Finish(iterator, iterator.Prev());
    if (*at == entries.begin()) {
      at.reset();
    } else {
      --*at;
    }
  }
  if (at && *at == entries.end()) {
    at.reset();
  }
}

void ExpectWalksToAgree(TableFixture& fixture, InternalIterator& iterator, const Entries& entries, Prng& prng,
                        int moves) {
  std::optional<Entries::const_iterator> at;
  for (int i = 0; i < moves; ++i) {
    MoveBoth(fixture, iterator, entries, at, prng);
    ASSERT_TRUE(iterator.status().ok()) << iterator.status().ToString();
    ASSERT_EQ(iterator.Valid(), at.has_value());
    if (at) {
      ASSERT_EQ(iterator.key(), (*at)->first);
      ASSERT_EQ(iterator.value(), (*at)->second);
    }
  }
}

// A walk that may end behind a key gives every entry up to it; what it gives behind it may lack some.
void ExpectBoundedWalkToAgree(TableFixture& fixture, const TableView& view, const Entries& entries,
                              TableIteratorOptions options, Prng& prng) {
  options.last_key = RandomUserKey(prng);
  const std::unique_ptr<InternalIterator> iterator = NewTableIterator(fixture.environment, view, options);
  auto at = entries.begin();
  if (prng.OneIn(2)) {
    const std::string from = InternalKeyOf(RandomUserKey(prng), prng.Below(3000));
    fixture.Finish(*iterator, iterator->Seek(from));
    at = entries.lower_bound(from);
  } else {
    fixture.Finish(*iterator, iterator->SeekToFirst());
  }
  while (iterator->Valid() && UserKeyOf(iterator->key()) <= options.last_key) {
    ASSERT_NE(at, entries.end());
    ASSERT_EQ(iterator->key(), at->first);
    ASSERT_EQ(iterator->value(), at->second);
    ++at;
    fixture.Finish(*iterator, iterator->Next());
  }
  ASSERT_TRUE(iterator->status().ok()) << iterator->status().ToString();
  ASSERT_TRUE(at == entries.end() || UserKeyOf(at->first) > options.last_key);
}

class TableModel : public testing::TestWithParam<uint64_t> {};

TEST_P(TableModel, RandomTablesAgreeWithAMap) {
  Prng prng(GetParam());
  TableFixture fixture({.sector_bytes = prng.OneIn(2) ? 512u : 4096u,
                        .cache_bytes = prng.OneIn(2) ? 16 * kKiB : 1 * kMiB,
                        .piece_units = prng.OneIn(2) ? 1u : UINT32_MAX,
                        .yields = prng.OneIn(2)});
  Model model;
  SegmentOptions options;
  options.block_bytes = static_cast<uint32_t>(prng.Between(64, 4096));
  options.bits_per_key = prng.OneIn(4) ? 0 : 10;
  options.filter_reserve = 0.4;
  TableView view = fixture.Build(RandomSegment(prng, model, prng.Between(1, 800)), options);
  for (uint64_t generations = GetParam() % 2 == 0 ? prng.Between(1, 4) : 0; generations > 0; --generations) {
    Result<TableView> mended = RandomMend(fixture, view, prng, model).Run();
    ASSERT_TRUE(mended.ok()) << mended.ToString();
    view = std::move(mended).value();
    ASSERT_EQ(fixture.Verify(view), std::vector<std::string>());
  }
  for (uint64_t segments = prng.Below(5); segments > 0; --segments) {
    view = fixture.Append(view, RandomSegment(prng, model, prng.Between(1, 400)), options);
  }
  EXPECT_EQ(view.entries(), model.entries.size());
  EXPECT_EQ(fixture.Verify(view), std::vector<std::string>());
  ExpectLookupsToAgree(fixture, view, model, prng);
  for (const bool sequential : {false, true}) {
    TableIteratorOptions iterator_options;
    iterator_options.fill_cache = prng.OneIn(2);
    iterator_options.sequential = sequential;
    iterator_options.readahead_bytes = static_cast<uint32_t>(prng.Between(0, 64 * kKiB));
    iterator_options.first_read_bytes = prng.OneIn(2) ? 0 : static_cast<uint32_t>(prng.Between(0, 16 * kKiB));
    const std::unique_ptr<InternalIterator> iterator =
        NewTableIterator(fixture.environment, view, iterator_options);
    ExpectWalksToAgree(fixture, *iterator, model.entries, prng, 1500);
    for (int walk = 0; walk < 20; ++walk) {
      ExpectBoundedWalkToAgree(fixture, view, model.entries, iterator_options, prng);
    }
  }
}

TEST(TableIterator, AWalkThatMayEndReadsNothingBehindItsLastKey) {
  TableFixture fixture;
  Entries entries;
  for (uint64_t i = 0; i < 2000; ++i) {
    entries[InternalKeyOf(NumberedKey(i), i + 1)] = std::string(500, 'v');
  }
  const TableView view = fixture.Build(entries, SegmentOptions{});
  TableIteratorOptions options;
  options.sequential = true;
  options.fill_cache = false;
  options.last_key = NumberedKey(199);
  const uint64_t bytes_before = fixture.device.counters().of(options.purpose).read_bytes;
  const std::unique_ptr<InternalIterator> iterator = NewTableIterator(fixture.environment, view, options);
  uint64_t count = 0;
  for (fixture.Finish(*iterator, iterator->SeekToFirst()); iterator->Valid();
       fixture.Finish(*iterator, iterator->Next())) {
    ++count;
  }
  EXPECT_GE(count, 200u);
  EXPECT_LT(count, 220u);
  // A tenth of the data, and footer and index.
  EXPECT_LT(fixture.device.counters().of(options.purpose).read_bytes - bytes_before, view.data_bytes() / 6);
}

INSTANTIATE_TEST_SUITE_P(Seeds, TableModel, testing::Range<uint64_t>(1, 41));

TEST(MergingIterator, ManyTablesMakeOneOrder) {
  Prng prng(5);
  TableFixture fixture({.cache_bytes = 64 * kKiB, .yields = true});
  Model model;
  std::vector<TableView> views;
  for (uint64_t id = 1; id <= 9; ++id) {
    views.push_back(fixture.Build(RandomSegment(prng, model, prng.Between(1, 300)), SegmentOptions{}, id));
  }
  std::vector<std::unique_ptr<InternalIterator>> children;
  children.reserve(views.size());
  for (const TableView& view : views) {
    children.push_back(NewTableIterator(fixture.environment, view, TableIteratorOptions{}));
  }
  const std::unique_ptr<InternalIterator> merged = NewMergingIterator(std::move(children));
  ExpectWalksToAgree(fixture, *merged, model.entries, prng, 5000);
}

TEST(TableIterator, SequentialWalkReadsInLargePiecesAndLeavesTheCacheAlone) {
  TableFixture fixture;
  Entries entries;
  for (uint64_t i = 0; i < 4000; ++i) {
    entries[InternalKeyOf(NumberedKey(i), i)] = std::string(500, 'v');
  }
  const TableView view = fixture.Build(entries);
  TableIteratorOptions options;
  options.fill_cache = false;
  options.sequential = true;
  options.purpose = IoPurpose::kCompaction;
  const std::unique_ptr<InternalIterator> iterator = NewTableIterator(fixture.environment, view, options);
  uint64_t count = 0;
  for (fixture.Finish(*iterator, iterator->SeekToFirst()); iterator->Valid();
       fixture.Finish(*iterator, iterator->Next())) {
    ++count;
  }
  EXPECT_EQ(count, 4000u);
  const auto& counters = fixture.device.counters().of(IoPurpose::kCompaction);
  // 2 MB in windows of 256 KiB, cut at index partitions, which are read singly.
  EXPECT_LT(counters.reads, 30u);
  EXPECT_LT(counters.read_bytes, view.used_bytes * 102 / 100);
  EXPECT_EQ(fixture.cache.statistics().entries, 0u);
}

TEST(TableIterator, ScanOfAFewKeysReadsNoMoreThanItsBlocks) {
  TableFixture fixture;
  Entries entries;
  for (uint64_t i = 0; i < 4000; ++i) {
    entries[InternalKeyOf(NumberedKey(i), i)] = std::string(500, 'v');
  }
  const TableView view = fixture.Build(entries);
  const std::unique_ptr<InternalIterator> iterator =
      NewTableIterator(fixture.environment, view, TableIteratorOptions{});
  fixture.Finish(*iterator, iterator->Seek(SeekKey(NumberedKey(1000), kSequenceNumberMax)));
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(iterator->Valid());
    fixture.Finish(*iterator, iterator->Next());
  }
  EXPECT_LE(fixture.cache.statistics().of(BlockKind::kData).misses, 3u);
}

}  // namespace
}  // namespace varve
