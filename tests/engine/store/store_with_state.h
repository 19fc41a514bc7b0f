// A store, and what it should hold: what tests of deletes have in common.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "engine/base/prng.h"
#include "tests/engine/store/store_harness.h"
#include "tests/engine/store/version_watcher.h"

namespace varve::testing {

class StoreWithState : public ::testing::Test {
 protected:
  StoreWithState() { options_ = SmallStoreOptions(); }

  static std::string KeyNumbered(uint64_t n) { return "key" + std::to_string(10'000 + n); }

  void Put(uint64_t n, size_t bytes = 200) {
    const std::string value = std::to_string(written_++) + std::string(bytes, 'v');
    ASSERT_TRUE(harness_.Put(KeyNumbered(n), value).ok());
    state_[KeyNumbered(n)] = value;
  }
  void Fill(uint64_t keys) {
    for (uint64_t n = 0; n < keys; n++) {
      Put((n * 7919) % keys);
    }
    Settle();
  }
  void Settle() { ASSERT_TRUE(harness_.Run(harness_.store().Settle()).ok()); }
  void ExpectAll(uint64_t keys) {
    EXPECT_EQ(harness_.Scan(), state_);
    for (uint64_t n = 0; n < keys; n += 7) {
      const auto expected = state_.find(KeyNumbered(n));
      EXPECT_EQ(harness_.Get(KeyNumbered(n)),
                expected == state_.end() ? std::nullopt : std::optional(expected->second))
          << n;
    }
  }

  VersionWatcher watcher_;
  Prng random_{1};
  uint64_t written_ = 0;
  StoreOptions options_;
  StoreHarness harness_{{.installs = &watcher_}};
  State state_;
};

}  // namespace varve::testing
