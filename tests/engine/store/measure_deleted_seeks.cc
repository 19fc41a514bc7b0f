// What a seek into 100,000 deleted keys costs, in time and in reads of the device: without deletes, at once
// after one delete of the range, and five seconds after single deletes. The store lies in memory, so a read
// of the device costs its copy. Figures: docs/benchmarks.md.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "tests/engine/store/store_harness.h"

namespace varve::testing {
namespace {

constexpr uint64_t kKeys = 400'000;
constexpr uint64_t kBegin = 150'000;
constexpr uint64_t kEnd = 250'000;
constexpr size_t kValueBytes = 200;
constexpr size_t kSeeks = 301;

std::string KeyNumbered(uint64_t n) {
  return fmt::format("key{:09}", n);
}

StoreOptions Options(bool delete_aware) {
  StoreOptions options;
  options.memtable_bytes = 4 * kMiB;
  options.table_bytes = 4 * kMiB;
  options.level1_bytes = 16 * kMiB;
  options.block_cache_bytes = 16 * kMiB;
  options.techniques.delete_aware = delete_aware;
  return options;
}

Task<void> SleepFor(uint64_t nanos) {
  co_await Executor::Current().Sleep(nanos);
}

void Fill(StoreHarness& harness) {
  const std::string value(kValueBytes, 'v');
  for (uint64_t n = 0; n < kKeys; ++n) {
    EXPECT_TRUE(harness.Put(KeyNumbered(n * 7919 % kKeys), value).ok());
  }
  EXPECT_TRUE(harness.Run(harness.store().Settle()).ok());
}

void Report(StoreHarness& harness, std::string_view what) {
  const auto reads = [&]() -> uint64_t {
    return harness.device().counters().by_purpose[static_cast<size_t>(IoPurpose::kUserRead)].reads;
  };
  std::vector<double> micros;
  const uint64_t before = reads();
  for (size_t i = 0; i < kSeeks; ++i) {
    const uint64_t n = kBegin + i * (kEnd - kBegin) / kSeeks;
    const auto begin = std::chrono::steady_clock::now();
    const std::unique_ptr<StoreIterator> it = harness.store().NewIterator("", "", {});
    harness.Finish(*it, it->Seek(KeyNumbered(n)));
    micros.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    EXPECT_TRUE(it->Valid());
  }
  const uint64_t after = reads();
  std::sort(micros.begin(), micros.end());
  fmt::print("{:45} median {:8.1f} us, worst {:9.1f} us, {:.2f} reads of the device a seek\n", what,
             micros[kSeeks / 2], micros.back(), static_cast<double>(after - before) / kSeeks);
}

void Measure() {
  {
    StoreHarness harness({.device_bytes = 512 * kMiB});
    EXPECT_TRUE(harness.Open(Options(false)).ok());
    Fill(harness);
    Report(harness, "no deletes, cold");
    Report(harness, "no deletes, again");
    WriteBatch batch;
    batch.DeleteRange(KeyNumbered(kBegin), KeyNumbered(kEnd));
    EXPECT_TRUE(harness.Write(batch).ok());
    Report(harness, "a range deleted, at once");
    Report(harness, "a range deleted, again");
    harness.Run(SleepFor(5'000'000'000));
    Report(harness, "a range deleted, after 5 s");
  }
  for (const bool delete_aware : {false, true}) {
    StoreHarness harness({.device_bytes = 512 * kMiB});
    EXPECT_TRUE(harness.Open(Options(delete_aware)).ok());
    Fill(harness);
    Report(harness, delete_aware ? "delete: no deletes, cold" : "none: no deletes, cold");
    for (uint64_t n = kBegin; n < kEnd; ++n) {
      EXPECT_TRUE(harness.Delete(KeyNumbered(n)).ok());
    }
    Report(harness, "single deletes, at once");
    harness.Run(SleepFor(5'000'000'000));
    Report(harness, "single deletes, after 5 s");
  }
}

}  // namespace
}  // namespace varve::testing

int main() {
  varve::testing::Measure();
  return 0;
}
