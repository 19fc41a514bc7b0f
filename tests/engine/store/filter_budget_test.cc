#include "engine/store/filter_budget.h"

#include <gtest/gtest.h>

#include "engine/base/prng.h"
#include "engine/version/version_set.h"
#include "tests/engine/store/store_harness.h"

namespace varve::testing {
namespace {

class Newest final : public InstallObserver {
 public:
  void OnInstalled(const std::shared_ptr<const Version>& version, const VersionEdit&) override {
    version_ = version;
  }
  const Version& version() const { return *version_; }
  void Forget() { version_.reset(); }

 private:
  std::shared_ptr<const Version> version_;
};

// Bits and memory of the filters of a store of several levels, by the technique.
struct Filters {
  double bits = 0;
  uint64_t capacity = 0;
  double bits_of_last = 0;
  double bits_above = 0;
};

Filters FiltersWith(bool monkey, bool block_merge) {
  Newest newest;
  StoreHarness harness({.installs = &newest});
  StoreOptions options = SmallStoreOptions();
  options.techniques = Techniques::None();
  options.techniques.monkey = monkey;
  options.techniques.block_merge = block_merge;
  EXPECT_TRUE(harness.Open(options).ok());
  Prng random(3);
  State state;
  for (uint64_t i = 0; i < 20'000; i++) {
    const std::string key = "key" + std::to_string(10'000 + random.Below(8'000));
    const std::string value = std::to_string(i) + std::string(60, 'v');
    EXPECT_TRUE(harness.Put(key, value).ok());
    state[key] = value;
  }
  EXPECT_TRUE(harness.Run(harness.store().Settle()).ok());
  EXPECT_EQ(harness.Scan(), state);
  Filters filters;
  double above = 0;
  uint64_t above_capacity = 0;
  const uint32_t last = newest.version().last_level();
  EXPECT_GE(last, 2U);
  for (uint32_t level = 0; level <= last; level++) {
    const TableTotals totals = newest.version().totals(level);
    filters.bits += totals.filter_bits;
    filters.capacity += totals.filter_capacity;
    if (level == last) {
      filters.bits_of_last = totals.filter_bits / static_cast<double>(totals.filter_capacity);
    } else {
      above += totals.filter_bits;
      above_capacity += totals.filter_capacity;
    }
  }
  filters.bits_above = above / static_cast<double>(above_capacity);
  newest.Forget();
  return filters;
}

TEST(FilterBudget, UpperLevelsGetMoreBitsAndAllTogetherNoMore) {
  for (const bool block_merge : {false, true}) {
    const Filters equal = FiltersWith(false, block_merge);
    const Filters shared = FiltersWith(true, block_merge);
    EXPECT_NEAR(equal.bits_above, 10, 0.01);
    EXPECT_NEAR(equal.bits_of_last, 10, 0.01);
    EXPECT_GT(shared.bits_above, 10.5);
    EXPECT_LT(shared.bits_of_last, 10);
    // Tables that were built when the levels were of other sizes keep their filters: a little either way.
    EXPECT_LT(shared.bits / static_cast<double>(shared.capacity), 10.3);
  }
}

}  // namespace
}  // namespace varve::testing
