#include "engine/memtable/memtable.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/batch_records.h"
#include "engine/base/prng.h"

namespace varve {
namespace {

constexpr size_t kCapacity = 1 * kMiB;

struct InternalKeyOrder {
  bool operator()(const std::string& a, const std::string& b) const { return CompareInternalKeys(a, b) < 0; }
};
using Model = std::map<std::string, std::string, InternalKeyOrder>;

std::string InternalKey(std::string_view user_key, uint64_t sequence, RecordKind kind = RecordKind::kValue) {
  std::string key;
  AppendInternalKey(key, user_key, SequenceNumber(sequence), kind);
  return key;
}

// Few prefixes, lengths from 0 to beyond two words, bytes above 0x7f: what comparisons get wrong.
std::string RandomKey(Prng& prng) {
  static constexpr std::string_view kAlphabet("\x00\x01\x7f\x80\xff", 5);
  std::string key(prng.Below(4) * 5, 'p');
  for (uint64_t length = prng.Below(6); length > 0; length--) {
    key.push_back(kAlphabet[prng.Below(kAlphabet.size())]);
  }
  return key;
}

TEST(MemtableTest, ARangeTombstoneIsNoEntryAndTakesANumberOfItsBatch) {
  std::string records;
  AppendPutRecord(records, "b", "1");
  AppendDeleteRangeRecord(records, "a", "c");
  AppendPutRecord(records, "b", "2");
  Memtable memtable(kCapacity);
  EXPECT_FALSE(memtable.ranges().any());
  const size_t before = memtable.memory_bytes();
  ASSERT_TRUE(memtable.Apply(SequenceNumber(10), records).ok());
  EXPECT_TRUE(memtable.ranges().any());
  EXPECT_GT(memtable.memory_bytes(), before);
  EXPECT_EQ(memtable.totals().entries, 2u);
  EXPECT_EQ(memtable.totals().largest_sequence.value, 12u);
  EXPECT_EQ(memtable.Get("b", kSequenceNumberMax)->sequence.value, 12u);
  EXPECT_EQ(memtable.ranges().NewestAt("b", kSequenceNumberMax).value, 11u);
  EXPECT_EQ(memtable.ranges().NewestAt("b", SequenceNumber(10)).value, 0u);
  EXPECT_EQ(memtable.ranges().Complete().size(), 1u);
}

TEST(MemtableTest, AnEmptyOneHoldsNothing) {
  Memtable memtable(kCapacity);
  EXPECT_TRUE(memtable.empty());
  EXPECT_FALSE(memtable.Get("a", kSequenceNumberMax));
  Memtable::Iterator iterator(memtable);
  iterator.SeekToFirst();
  EXPECT_FALSE(iterator.Valid());
  iterator.SeekToLast();
  EXPECT_FALSE(iterator.Valid());
  iterator.Seek(InternalKey("a", 1));
  EXPECT_FALSE(iterator.Valid());
  iterator.SeekForPrev(InternalKey("a", 1));
  EXPECT_FALSE(iterator.Valid());
  EXPECT_EQ(memtable.totals().entries, 0u);
}

TEST(MemtableTest, GetFindsTheNewestVersionThatTheSnapshotSees) {
  Memtable memtable(kCapacity);
  memtable.Add(SequenceNumber(10), RecordKind::kValue, "k", "ten");
  memtable.Add(SequenceNumber(30), RecordKind::kTombstone, "k", "");
  memtable.Add(SequenceNumber(20), RecordKind::kValue, "k", "twenty");
  EXPECT_FALSE(memtable.Get("k", SequenceNumber(9)));
  const std::optional<MemtableEntry> at_10 = memtable.Get("k", SequenceNumber(10));
  ASSERT_TRUE(at_10);
  EXPECT_EQ(at_10->value, "ten");
  EXPECT_EQ(at_10->sequence, SequenceNumber(10));
  EXPECT_EQ(memtable.Get("k", SequenceNumber(29))->value, "twenty");
  EXPECT_EQ(memtable.Get("k", kSequenceNumberMax)->kind, RecordKind::kTombstone);
  EXPECT_FALSE(memtable.Get("j", kSequenceNumberMax));
  EXPECT_FALSE(memtable.Get("k0", kSequenceNumberMax));
}

TEST(MemtableTest, EverythingAgreesWithAModel) {
  for (uint64_t seed = 0; seed < 10; seed++) {
    Prng prng(seed);
    Memtable memtable(kCapacity, seed);
    Model model;
    uint64_t user_bytes = 0;
    for (uint64_t sequence = 1; sequence <= 1500; sequence++) {
      const std::string key = RandomKey(prng);
      const bool tombstone = prng.OneIn(5);
      const std::string value = tombstone ? "" : std::string(prng.Below(30), 'v') + std::to_string(sequence);
      const RecordKind kind = tombstone ? RecordKind::kTombstone : RecordKind::kValue;
      memtable.Add(SequenceNumber(sequence), kind, key, value);
      model[InternalKey(key, sequence, kind)] = value;
      user_bytes += key.size() + value.size();
    }
    EXPECT_EQ(memtable.totals().entries, model.size());
    EXPECT_EQ(memtable.totals().user_bytes, user_bytes);

    Memtable::Iterator iterator(memtable);
    iterator.SeekToFirst();
    for (const auto& [key, value] : model) {
      ASSERT_TRUE(iterator.Valid());
      ASSERT_EQ(iterator.key(), key);
      ASSERT_EQ(iterator.value(), value);
      iterator.Next();
    }
    EXPECT_FALSE(iterator.Valid());
    iterator.SeekToLast();
    for (auto at = model.rbegin(); at != model.rend(); ++at) {
      ASSERT_TRUE(iterator.Valid());
      ASSERT_EQ(iterator.key(), at->first);
      iterator.Prev();
    }
    EXPECT_FALSE(iterator.Valid());

    for (int i = 0; i < 1500; i++) {
      const std::string user_key = RandomKey(prng);
      const std::string key = SeekKey(user_key, SequenceNumber(prng.Below(1600)));
      const auto after = model.lower_bound(key);
      iterator.Seek(key);
      ASSERT_EQ(iterator.Valid(), after != model.end());
      if (iterator.Valid()) {
        ASSERT_EQ(iterator.key(), after->first);
      }
      const std::optional<MemtableEntry> got = memtable.Get(user_key, SequenceOf(key));
      const bool expected = after != model.end() && UserKeyOf(after->first) == user_key;
      ASSERT_EQ(got.has_value(), expected);
      if (got) {
        ASSERT_EQ(got->value, after->second);
        ASSERT_EQ(got->sequence, SequenceOf(after->first));
        ASSERT_EQ(got->kind, KindOf(after->first));
      }
      const auto behind = model.upper_bound(key);
      iterator.SeekForPrev(key);
      ASSERT_EQ(iterator.Valid(), behind != model.begin());
      if (iterator.Valid()) {
        ASSERT_EQ(iterator.key(), std::prev(behind)->first);
      }
    }
  }
}

TEST(MemtableTest, SeekForPrevStopsAtTheKeyItself) {
  Memtable memtable(kCapacity);
  memtable.Add(SequenceNumber(1), RecordKind::kValue, "a", "");
  memtable.Add(SequenceNumber(2), RecordKind::kValue, "b", "");
  Memtable::Iterator iterator(memtable);
  iterator.SeekForPrev(InternalKey("b", 2));
  ASSERT_TRUE(iterator.Valid());
  EXPECT_EQ(iterator.key(), InternalKey("b", 2));
}

TEST(MemtableTest, ABatchTakesConsecutiveSequenceNumbers) {
  Memtable memtable(kCapacity);
  std::string records;
  AppendPutRecord(records, "a", "1");
  AppendDeleteRecord(records, "b");
  AppendPutRecord(records, "a", "2");
  ASSERT_TRUE(memtable.Apply(SequenceNumber(100), records).ok());
  EXPECT_EQ(memtable.Get("a", SequenceNumber(101))->value, "1");
  EXPECT_EQ(memtable.Get("a", SequenceNumber(102))->value, "2");
  EXPECT_EQ(memtable.Get("b", kSequenceNumberMax)->sequence, SequenceNumber(101));
  const Memtable::Totals totals = memtable.totals();
  EXPECT_EQ(totals.entries, 3u);
  EXPECT_EQ(totals.tombstones, 1u);
  EXPECT_EQ(totals.user_bytes, 5u);
  EXPECT_EQ(totals.smallest_sequence, SequenceNumber(100));
  EXPECT_EQ(totals.largest_sequence, SequenceNumber(102));
}

TEST(MemtableTest, BatchesInAnyOrderOfKeysKeepTheList) {
  // Runs of neighbours, forward, backward and mixed: each finger is used as it is, widened, and thrown away.
  for (uint64_t seed = 0; seed < 5; seed++) {
    Prng prng(seed);
    Memtable memtable(kCapacity, seed);
    Model model;
    uint64_t sequence = 1;
    for (int batch = 0; batch < 100; batch++) {
      std::string records;
      const uint64_t first = sequence;
      uint64_t at = prng.Below(5000);
      const uint64_t stride = prng.Below(3);
      for (int i = 0; i < 50; i++) {
        at = stride == 0 ? prng.Below(5000) : (stride == 1 ? at + prng.Below(3) : at - prng.Below(3));
        std::string key;
        AppendBigEndian64(key, at);
        AppendPutRecord(records, key, std::to_string(sequence));
        model[InternalKey(key, sequence)] = std::to_string(sequence);
        sequence++;
      }
      ASSERT_TRUE(memtable.Apply(SequenceNumber(first), records).ok());
    }
    Memtable::Iterator iterator(memtable);
    iterator.SeekToFirst();
    for (const auto& [key, value] : model) {
      ASSERT_TRUE(iterator.Valid());
      ASSERT_EQ(iterator.key(), key);
      ASSERT_EQ(iterator.value(), value);
      iterator.Next();
    }
    EXPECT_FALSE(iterator.Valid());
    // Every level leads to every entry.
    for (const auto& [key, value] : model) {
      const std::optional<MemtableEntry> got = memtable.Get(UserKeyOf(key), SequenceOf(key));
      ASSERT_TRUE(got);
      ASSERT_EQ(got->value, value);
    }
  }
}

TEST(MemtableTest, AMalformedBatchIsCorruption) {
  Memtable memtable(kCapacity);
  std::string records;
  AppendPutRecord(records, "a", "1");
  records.push_back(9);
  EXPECT_TRUE(memtable.Apply(SequenceNumber(1), records).Is(ErrorCode::kCorruption));
}

TEST(MemtableTest, ConcurrentBatchesAllArriveAndReadersSeeWholePublishedBatches) {
  constexpr uint64_t kThreads = 3;
  constexpr uint64_t kBatches = 400;
  constexpr uint64_t kRecords = 10;
  Memtable memtable(kCapacity);
  std::atomic<bool> done{false};
  // What each writer has published, in batches.
  std::array<std::atomic<uint64_t>, kThreads> published{};
  const auto key_of = [](uint64_t writer, uint64_t batch, uint64_t record) {
    std::string key;
    // Writers meet everywhere in the list; the same place is hit again and again.
    AppendBigEndian64(key, (batch * 7919 + record * 13) % 500);
    key.push_back(static_cast<char>('a' + writer));
    return key;
  };
  const auto sequence_of = [](uint64_t writer, uint64_t batch) {
    return 1 + (batch * kThreads + writer) * kRecords;
  };

  std::vector<std::thread> threads;
  for (uint64_t writer = 0; writer < kThreads; writer++) {
    threads.emplace_back([&, writer] {
      for (uint64_t batch = 0; batch < kBatches; batch++) {
        std::string records;
        for (uint64_t i = 0; i < kRecords; i++) {
          AppendPutRecord(records, key_of(writer, batch, i), std::to_string(batch));
        }
        ASSERT_TRUE(memtable.Apply(SequenceNumber(sequence_of(writer, batch)), records).ok());
        published[writer].store(batch + 1, std::memory_order_release);
      }
    });
  }
  std::thread reader([&] {
    Prng prng(5);
    while (!done.load()) {
      const uint64_t writer = prng.Below(kThreads);
      const uint64_t seen = published[writer].load(std::memory_order_acquire);
      if (seen == 0) {
        continue;
      }
      const uint64_t batch = prng.Below(seen);
      for (uint64_t i = 0; i < kRecords; i++) {
        const auto got =
            memtable.Get(key_of(writer, batch, i), SequenceNumber(sequence_of(writer, batch) + i));
        ASSERT_TRUE(got);
        ASSERT_EQ(got->value, std::to_string(batch));
      }
      Memtable::Iterator iterator(memtable);
      std::string last;
      for (iterator.Seek(SeekKey(key_of(writer, batch, 0), kSequenceNumberMax)); iterator.Valid();
           iterator.Next()) {
        if (!last.empty()) {
          ASSERT_LT(CompareInternalKeys(last, iterator.key()), 0);
        }
        last = iterator.key();
      }
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  done = true;
  reader.join();

  EXPECT_EQ(memtable.totals().entries, kThreads * kBatches * kRecords);
  uint64_t walked = 0;
  std::string last;
  Memtable::Iterator iterator(memtable);
  for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) {
    walked++;
    if (!last.empty()) {
      ASSERT_LT(CompareInternalKeys(last, iterator.key()), 0);
    }
    last = iterator.key();
  }
  EXPECT_EQ(walked, kThreads * kBatches * kRecords);
  for (; walked > 0; walked--) {
    iterator.SeekForPrev(last);
    ASSERT_TRUE(iterator.Valid());
    ASSERT_EQ(iterator.key(), last);
    iterator.Prev();
    last = iterator.Valid() ? std::string(iterator.key()) : "";
  }
}

TEST(KeyFilterTest, AddedKeysAreFoundAndOthersSeldom) {
  KeyFilter filter(1 * kMiB);
  // Entries of 100 bytes.
  constexpr uint64_t kKeys = 10000;
  for (uint64_t i = 0; i < kKeys; i++) {
    filter.Add(Memtable::KeyHash(std::to_string(i)));
  }
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < kKeys; i++) {
    ASSERT_TRUE(filter.MayContain(Memtable::KeyHash(std::to_string(i))));
    wrong += filter.MayContain(Memtable::KeyHash(std::to_string(kKeys + i))) ? 1 : 0;
  }
  EXPECT_LT(wrong, kKeys / 50);
}

}  // namespace
}  // namespace varve
