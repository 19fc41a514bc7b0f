// What tests of stores with deletes of ranges have in common: how they delete, and what they ask.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/engine/store/store_with_state.h"

namespace varve::testing {

class StoreRanges : public StoreWithState {
 protected:
  void Open() { ASSERT_TRUE(harness_.Open(options_).ok()); }
  void DeleteRange(uint64_t begin, uint64_t end, Durability durability = Durability::kInterval) {
    WriteBatch batch;
    batch.DeleteRange(KeyNumbered(begin), KeyNumbered(end));
    ASSERT_TRUE(harness_.Write(batch, durability).ok());
    state_.erase(state_.lower_bound(KeyNumbered(begin)), state_.lower_bound(KeyNumbered(end)));
  }
  void Wait(uint64_t nanos) { harness_.Run(SleepFor(nanos)); }
  uint64_t entries() const { return watcher_.newest().totals().entries; }
  size_t tombstones() const {
    const RangeTombstones* const ranges = watcher_.newest().range_tombstones();
    return ranges == nullptr ? 0 : ranges->size();
  }
  // Memtables that were written out since the store was opened.
  uint64_t flushes() {
    const std::string json = harness_.store().StatisticsJson();
    const std::string name = R"("flush":{"jobs":)";
    return std::stoul(json.substr(json.find(name) + name.size()));
  }
  // Of the device, for a seek to the key by an iterator of its own.
  uint64_t ReadsOfSeek(uint64_t n) {
    const auto reads = [&]() -> uint64_t {
      return harness_.device().counters().by_purpose[static_cast<size_t>(IoPurpose::kUserRead)].reads;
    };
    const uint64_t before = reads();
    const std::unique_ptr<StoreIterator> it = harness_.store().NewIterator("", "", {.fill_cache = false});
    harness_.Finish(*it, it->Seek(KeyNumbered(n)));
    EXPECT_TRUE(it->Valid());
    EXPECT_EQ(it->key(), state_.lower_bound(KeyNumbered(n))->first);
    return reads() - before;
  }

 private:
  static Task<void> SleepFor(uint64_t nanos) { co_await Executor::Current().Sleep(nanos); }
};

}  // namespace varve::testing
