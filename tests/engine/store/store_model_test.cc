// Random operations on the store and on a std::map, compared all the way: batches, snapshots, iterators in
// both directions, reopening, power failures.
#include <gtest/gtest.h>

#include <deque>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/prng.h"
#include "tests/engine/store/store_harness.h"

namespace varve::testing {
namespace {

struct ModelCase {
  uint64_t seed = 0;
  uint32_t sector_bytes = 512;
  int operations = 1500;
  bool crashes = false;
  bool range_deletes = false;
};

class ModelRun {
 public:
  explicit ModelRun(const ModelCase& c)
      : case_(c),
        random_(c.seed),
        harness_(
            {.device_bytes = 96 * kMiB, .sector_bytes = c.sector_bytes, .device_yields = c.seed % 2 == 0}) {
    options_ = SmallStoreOptions();
    // Sometimes a commit comes while the run goes on, sometimes never.
    options_.commit_interval_nanos = c.seed % 3 == 0 ? 1'000'000 : 1'000'000'000'000;
  }

  void Run() {
    Reopen();
    for (int i = 0; i < case_.operations && !::testing::Test::HasFailure(); i++) {
      Step1();
    }
    if (!::testing::Test::HasFailure()) {
      EXPECT_EQ(harness_.Scan(), model_.state());
      snapshots_.clear();
      EXPECT_TRUE(harness_.Close().ok());
      Reopen();
      EXPECT_EQ(harness_.Scan(), model_.state());
    }
    snapshots_.clear();
  }

 private:
  struct Held {
    std::shared_ptr<const Snapshot> snapshot;
    State state;
  };

  void Step1() {
    const uint64_t dice = random_.Below(1000);
    if (dice < 600) {
      WriteSome();
    } else if (dice < 800) {
      CheckGet();
    } else if (dice < 870) {
      CheckWalk();
    } else if (dice < 900) {
      snapshots_.push_back({harness_.store().GetSnapshot(), model_.state()});
      if (snapshots_.size() > 3) {
        snapshots_.pop_front();
      }
    } else if (dice < 960) {
      if (!snapshots_.empty()) {
        snapshots_.pop_front();
      }
    } else if (dice < 980) {
      harness_.clock().Advance(random_.Below(2'000'000));
    } else if (dice < 990) {
      EXPECT_TRUE(harness_.Run(harness_.store().Sync()).ok());
      model_.MarkDurable();
    } else if (dice < 994) {
      EXPECT_TRUE(harness_.Run(harness_.store().Settle()).ok());
      model_.MarkDurable();
    } else if (dice < 997) {
      snapshots_.clear();
      EXPECT_TRUE(harness_.Close().ok());
      model_.MarkDurable();
      Reopen();
    } else if (case_.crashes) {
      Crash();
    }
  }

  void Reopen() {
    const Status opened = harness_.Open(options_, case_.seed);
    ASSERT_TRUE(opened.ok()) << opened.ToString();
  }

  void Crash() {
    snapshots_.clear();
    harness_.Crash();
    Reopen();
    ASSERT_TRUE(model_.CrashTo(harness_.Scan()))
        << "what survived is no prefix that holds the " << model_.durable_batches() << " durable batches of "
        << model_.batches();
  }

  std::string RandomKey() {
    // Few keys, so that they are overwritten; prefixes of each other, long ones, the empty one.
    const uint64_t n = random_.Below(400);
    if (n == 0) {
      return "";
    }
    if (n < 20) {
      return std::string(n, 'a');
    }
    std::string key = "k" + std::to_string(n % 97) + "/" + std::to_string(n);
    if (n % 50 == 7) {
      key += std::string(300, static_cast<char>('p' + n % 5));
    }
    return key;
  }

  void WriteSome() {
    WriteBatch batch;
    std::vector<StoreModel::Record> records;
    const uint64_t count = random_.OneIn(10) ? random_.Between(2, 20) : 1;
    for (uint64_t i = 0; i < count; i++) {
      StoreModel::Record record;
      record.key = RandomKey();
      record.is_delete = random_.OneIn(4);
      if (case_.range_deletes && random_.OneIn(12)) {
        record.is_delete = true;
        record.range_end = RandomKey();
        if (record.range_end < record.key) {
          std::swap(record.key, record.range_end);
        }
        batch.DeleteRange(record.key, record.range_end);
        if (record.key == record.range_end) {
          continue;
        }
      } else if (record.is_delete) {
        batch.Delete(record.key);
      } else {
        const uint64_t bytes = random_.OneIn(30) ? random_.Below(20'000) : random_.Below(300);
        record.value.assign(bytes, static_cast<char>('A' + random_.Below(26)));
        record.value += std::to_string(model_.batches());
        batch.Put(record.key, record.value);
      }
      records.push_back(std::move(record));
    }
    const bool durable = random_.OneIn(15);
    const Status written = harness_.Write(batch, durable ? Durability::kDurable : Durability::kInterval);
    ASSERT_TRUE(written.ok()) << written.ToString();
    model_.Apply(records);
    if (durable) {
      model_.MarkDurable();
    }
  }

  // A random held snapshot, or the newest state.
  std::pair<const Snapshot*, const State*> View() {
    if (snapshots_.empty() || random_.OneIn(2)) {
      return {nullptr, &model_.state()};
    }
    const Held& held = snapshots_[random_.Below(snapshots_.size())];
    return {held.snapshot.get(), &held.state};
  }

  void CheckGet() {
    const auto [snapshot, state] = View();
    const std::string key = RandomKey();
    const std::optional<std::string> found = harness_.Get(key, snapshot);
    const auto expected = state->find(key);
    if (expected == state->end()) {
      EXPECT_EQ(found, std::nullopt) << key;
    } else {
      EXPECT_EQ(found, expected->second) << key;
    }
  }

  // A random walk of an iterator beside one of the map.
  void CheckWalk() {
    const auto [snapshot, whole] = View();
    std::string lower;
    std::string upper;
    if (random_.OneIn(3)) {
      lower = RandomKey();
      upper = RandomKey();
      if (upper < lower) {
        std::swap(lower, upper);
      }
    }
    // The view may be of the model, which goes on below: a walk sees the state in which it began.
    State state(whole->lower_bound(lower), upper.empty() ? whole->end() : whole->lower_bound(upper));
    ReadOptions options;
    options.snapshot = snapshot;
    options.fill_cache = !random_.OneIn(4);
    options.keeps_value = random_.OneIn(4);
    options.goes_on = random_.OneIn(4);
    options.whole_range = random_.OneIn(4);
    // Of walks anywhere, of tables that may be gone: they are but hints.
    options.marks = random_.OneIn(2) ? &marks_ : nullptr;
    const std::unique_ptr<StoreIterator> it = harness_.store().NewIterator(lower, upper, options);
    auto at = state.end();
    for (int i = 0; i < 25 && !::testing::Test::HasFailure(); i++) {
      const uint64_t dice = random_.Below(10);
      if (dice == 0 || at == state.end()) {
        const std::string key = RandomKey();
        if (random_.OneIn(2)) {
          harness_.Finish(*it, it->Seek(key));
          at = state.lower_bound(key);
        } else {
          harness_.Finish(*it, it->SeekForPrev(key));
          at = state.upper_bound(key);
          at = at == state.begin() ? state.end() : std::prev(at);
        }
      } else if (dice < 6) {
        harness_.Finish(*it, it->Next());
        ++at;
      } else {
        harness_.Finish(*it, it->Prev());
        at = at == state.begin() ? state.end() : std::prev(at);
      }
      ASSERT_TRUE(it->status().ok()) << it->status().ToString();
      ASSERT_EQ(it->Valid(), at != state.end());
      if (it->Valid()) {
        ASSERT_EQ(it->key(), at->first);
        ASSERT_EQ(it->value(), at->second);
      }
      if (random_.OneIn(8)) {
        WriteSome();
      }
    }
  }

  const ModelCase case_;
  Prng random_;
  StoreHarness harness_;
  StoreOptions options_;
  StoreModel model_;
  std::deque<Held> snapshots_;
  ReadAheadMarks marks_;
};

void RunSeeds(uint64_t first, uint64_t count, uint32_t sector_bytes, bool crashes,
              bool range_deletes = false) {
  for (uint64_t seed = first; seed < first + count; seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", sector " + std::to_string(sector_bytes));
    ModelRun({.seed = seed, .sector_bytes = sector_bytes, .crashes = crashes, .range_deletes = range_deletes})
        .Run();
    if (::testing::Test::HasFailure()) {
      return;
    }
  }
}

TEST(StoreModel, RandomOperationsAgreeWithAMap512) {
  RunSeeds(1, 8, 512, false);
}
TEST(StoreModel, RandomOperationsAgreeWithAMap4096) {
  RunSeeds(101, 8, 4096, false);
}
TEST(StoreModel, PowerFailuresLeaveAPrefixWithAllThatWasDurable512) {
  RunSeeds(201, 10, 512, true);
}
TEST(StoreModel, PowerFailuresLeaveAPrefixWithAllThatWasDurable4096) {
  RunSeeds(301, 10, 4096, true);
}
TEST(StoreModel, DeletedRangesAgreeWithAMap) {
  RunSeeds(401, 16, 512, false, true);
}
TEST(StoreModel, DeletedRangesSurvivePowerFailures) {
  RunSeeds(501, 16, 4096, true, true);
}

}  // namespace
}  // namespace varve::testing
