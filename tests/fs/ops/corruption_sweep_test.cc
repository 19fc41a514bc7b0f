// Single bytes of a filled store are changed, one at a time, all over what it uses. Every read afterwards
// must give the right bytes or an error, and the checks of fsck must find each change that hits something
// live, and nothing where it does not.
//
// VARVE_CORRUPTIONS: how many bytes; VARVE_CORRUPTION_MIB: how large the store is.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "engine/base/checksum.h"
#include "engine/base/prng.h"
#include "engine/cache/block_cache.h"
#include "engine/store/check_store.h"
#include "engine/table/table_reader.h"
#include "fs/namespace/namespace_format.h"
#include "tests/fs/ops/live_bytes.h"
#include "tests/fs/ops/stored_fs.h"
#include "tests/support/fault_list.h"

namespace varve {
namespace {

// Of all corruptions, one in so many is looked at with the whole of fsck and not with its part for the table.
constexpr uint64_t kWholeCheckOneIn = 50;
// Keys read where a corruption concerns more.
constexpr size_t kKeysSampled = 24;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::strtoull(value, nullptr, 10) : otherwise;
}

class CountingObserver final : public CheckObserver {
 public:
  void OnProblem(StoreProblem /*problem*/) override { ++problems; }
  void OnProgress(uint64_t /*done_bytes*/, uint64_t /*total_bytes*/) override {}
  uint64_t problems = 0;
};

struct Tally {
  uint64_t corruptions = 0;
  uint64_t found = 0;
  uint64_t reads_right = 0;
  uint64_t reads_failed = 0;
};

class CorruptionSweep : public ::testing::Test {
 protected:
  CorruptionSweep() : fs_(4 * StoreBytes() + 256 * kMiB, Options()) {}

  static uint64_t StoreBytes() { return FromEnvironment("VARVE_CORRUPTION_MIB", 12) * kMiB; }
  static StoreOptions Options() {
    StoreOptions options;
    options.memtable_bytes = 2 * kMiB;
    options.table_bytes = 2 * kMiB;
    options.level1_bytes = 8 * kMiB;
    options.level_ratio = 4;
    // What is read comes from the device.
    options.block_cache_bytes = 0;
    return options;
  }

  std::string RandomBytes(size_t bytes) {
    std::string text(bytes, '\0');
    for (char& c : text) {
      c = static_cast<char>(prng_.Below(256));
    }
    return text;
  }

  // Files of all sizes, some replaced and removed again, so that older versions and tombstones lie about; a
  // clean end; then some more, and a crash: so there is a log to replay.
  void Fill() {
    ASSERT_TRUE(fs_.Mount().ok());
    uint64_t written = 0;
    for (int i = 0; written < StoreBytes() + StoreBytes() / 8; ++i) {
      const size_t size = prng_.OneIn(3) ? prng_.Below(2000) : prng_.Below(200'000);
      fs_.Put("d" + std::to_string(i % 17) + "/file" + std::to_string(i), RandomBytes(size));
      written += size;
      if (i % 13 == 5) {
        fs_.Put("d" + std::to_string(i % 17) + "/file" + std::to_string(i), RandomBytes(size / 2));
      }
      if (i % 29 == 7) {
        const std::string path = "d" + std::to_string(i % 17) + "/file" + std::to_string(i);
        ASSERT_TRUE(fs_.Run(RemovePath(*fs_.fs, path, false)).ok());
      }
    }
    ASSERT_TRUE(fs_.Run(fs_.store->Settle()).ok());
    fs_.Close();
    ASSERT_TRUE(fs_.Mount().ok());
    for (int i = 0; i < 40; ++i) {
      fs_.Put("late/file" + std::to_string(i), RandomBytes(prng_.Below(20'000)));
      ASSERT_TRUE(fs_.Run(fs_.store->Sync()).ok());
    }
    std::unique_ptr<MemoryDevice> crashed = fs_.device.Clone();
    fs_.Close();
    fs_.device.Restore(crashed->Snapshot());
  }

  // Every record, from a store that nothing has happened to.
  void ReadTruth() {
    ASSERT_TRUE(fs_.OpenStore(true).ok());
    const std::unique_ptr<StoreIterator> records = fs_.store->NewIterator({}, {}, {nullptr, false});
    for (Step step = records->Seek(std::string_view());; step = records->Next()) {
      if (step == Step::kNeedsIo) {
        fs_.Run(records->Load());
      }
      if (!records->Valid()) {
        break;
      }
      truth_.emplace_back(records->key(), Hash64(records->value()));
    }
    ASSERT_TRUE(records->status().ok());
    Result<LiveBytes> live = fs_.Run(FindLiveBytes(fs_.device));
    ASSERT_TRUE(live.ok()) << live.ToString();
    live_ = std::move(*live);
  }

  // A place on the used part: mostly anywhere, and one in eight in what is small and matters most.
  uint64_t RandomPlace() {
    if (prng_.OneIn(8)) {
      constexpr std::array kSmall = {BytesOf::kSuperblock, BytesOf::kManifest, BytesOf::kLogGroup,
                                     BytesOf::kLogTail,    BytesOf::kIndex,    BytesOf::kFilter};
      return PlaceIn(by_kind_[static_cast<size_t>(kSmall[prng_.Below(kSmall.size())])]);
    }
    return PlaceIn(used_);
  }
  uint64_t PlaceIn(const std::vector<std::pair<uint64_t, uint64_t>>& ranges) {
    uint64_t total = 0;
    for (const auto& [begin, end] : ranges) {
      total += end - begin;
    }
    uint64_t at = total == 0 ? 0 : prng_.Below(total);
    for (const auto& [begin, end] : ranges) {
      if (at < end - begin) {
        return begin + at;
      }
      at -= end - begin;
    }
    return ranges.front().first;
  }
  void FindUsed() {
    for (const auto& [begin, range] : live_.ranges) {
      by_kind_[static_cast<size_t>(range.what)].emplace_back(range.begin, range.end);
      if (range.what == BytesOf::kSuperblock || range.what == BytesOf::kManifest) {
        used_.emplace_back(range.begin, range.end);
      }
    }
    // Tables as far as they are written, padding included; the log as far as it is written.
    for (const std::shared_ptr<const LiveTable>& table : live_.tables) {
      for (const TableExtent& part : table->view().extents) {
        const uint64_t written = table->view().used_bytes;
        if (part.table_offset < written) {
          const uint64_t bytes = std::min(part.extent.bytes(), written - part.table_offset);
          used_.emplace_back(part.extent.offset().value, part.extent.offset().value + bytes);
        }
      }
    }
    for (const BytesOf what : {BytesOf::kLogGroup, BytesOf::kLogTail}) {
      for (const auto& [begin, end] : by_kind_[static_cast<size_t>(what)]) {
        used_.emplace_back(begin, RoundUp(end, fs_.device.sector_bytes()));
      }
    }
  }

  // Reads one key: right, or an error that says so. `older` allows what was there before, too.
  void ReadOne(Store& store, const std::pair<std::string, uint64_t>& record, bool older, Tally& tally) {
    const Store::Lookup found = fs_.Run(store.Get(record.first, {nullptr, false}));
    if (!found.ok()) {
      EXPECT_TRUE(found.Is(ErrorCode::kCorruption)) << found.ToString();
      ++tally.reads_failed;
      return;
    }
    const bool right = found->has_value() && Hash64((*found)->bytes()) == record.second;
    EXPECT_TRUE(right || older) << "a read gives something else than what was written";
    tally.reads_right += right ? 1 : 0;
  }

  using Truth = std::vector<std::pair<std::string, uint64_t>>;
  std::pair<size_t, size_t> TruthBetween(std::string_view smallest, std::string_view largest) const {
    const auto less = [](const auto& record, std::string_view key) { return record.first < key; };
    const auto first = std::lower_bound(truth_.begin(), truth_.end(), smallest, less);
    auto last = std::lower_bound(first, truth_.end(), largest, less);
    last += last != truth_.end() && last->first == largest ? 1 : 0;
    return {static_cast<size_t>(first - truth_.begin()), static_cast<size_t>(last - truth_.begin())};
  }

  // Point reads of the range's keys, or of some of them; a walk over the range; and some keys anywhere.
  void ReadAround(Store& store, const LiveRange& range, Tally& tally) {
    const auto [first, last] = TruthBetween(range.smallest, range.largest);
    const size_t count = last - first;
    for (size_t i = 0; i < std::min(count, kKeysSampled); ++i) {
      const size_t at = count <= kKeysSampled ? i : prng_.Below(count);
      ReadOne(store, truth_[first + at], false, tally);
    }
    for (int i = 0; i < 4; ++i) {
      ReadOne(store, truth_[prng_.Below(truth_.size())], false, tally);
    }
    if (count != 0) {
      const size_t from = count <= 2 * kKeysSampled ? first : first + prng_.Below(count - kKeysSampled);
      Walk(store, from, std::min(last, from + 2 * kKeysSampled), tally);
    }
  }

  void Walk(Store& store, size_t from, size_t to, Tally& tally) {
    const std::unique_ptr<StoreIterator> records =
        store.NewIterator(truth_[from].first, {}, {nullptr, false});
    Step step = records->Seek(truth_[from].first);
    for (size_t at = from; at < to; ++at, step = records->Next()) {
      if (step == Step::kNeedsIo) {
        fs_.Run(records->Load());
      }
      if (!records->Valid()) {
        EXPECT_TRUE(records->status().Is(ErrorCode::kCorruption)) << records->status().ToString();
        ++tally.reads_failed;
        return;
      }
      EXPECT_EQ(records->key(), truth_[at].first) << "a walk misses a key, or gives one too many";
      EXPECT_EQ(Hash64(records->value()), truth_[at].second);
      ++tally.reads_right;
    }
  }

  // A byte of a table: the store is open, as it was before.
  void CheckTableByte(const LiveRange& range, Tally& tally) {
    const LiveTable& table = *live_.tables[range.table];
    FaultList faults;
    BlockCache cache(0);
    const TableEnvironment environment{fs_.device, cache, live_.store.superblock.uuid};
    ASSERT_TRUE(fs_.Run(VerifyTable(environment, table.view(), faults)).ok());
    EXPECT_FALSE(faults.faults.empty()) << "the check finds nothing";
    tally.found += faults.faults.empty() ? 0 : 1;
    ReadAround(*fs_.store, range, tally);
  }

  // A byte that is read when a store is opened.
  void CheckOpeningByte(const LiveRange& range, Tally& tally) {
    CountingObserver observer;
    const Result<CheckSummary> checked = fs_.Run(CheckStore(fs_.device, CheckDepth::kStructure, observer));
    const bool found = !checked.ok() || observer.problems != 0;
    const bool tail = range.what == BytesOf::kLogTail;
    EXPECT_TRUE(found || tail) << "the check finds nothing";
    tally.found += found ? 1 : 0;
    StoreOptions options = Options();
    options.read_only = true;
    const Result<std::unique_ptr<Store>> opened =
        fs_.Run(OpenStore({fs_.device, fs_.clock, fs_.logger, {&fs_.executor}, 1}, options));
    if (!opened.ok()) {
      EXPECT_TRUE(opened.Is(ErrorCode::kCorruption)) << opened.ToString();
      ++tally.reads_failed;
      return;
    }
    for (size_t i = 0; i < kKeysSampled; ++i) {
      ReadOne(**opened, truth_[prng_.Below(truth_.size())], tail, tally);
    }
    ASSERT_TRUE(fs_.Run((*opened)->Close()).ok());
  }

  void CheckUnusedByte(Tally& tally) {
    for (size_t i = 0; i < 4; ++i) {
      ReadOne(*fs_.store, truth_[prng_.Below(truth_.size())], false, tally);
    }
  }

  void CheckWhole(bool live) {
    CountingObserver observer;
    const Result<CheckSummary> checked = fs_.Run(CheckStore(fs_.device, CheckDepth::kBlocks, observer));
    const bool found = !checked.ok() || observer.problems != 0;
    EXPECT_EQ(found, live) << "the whole check " << (found ? "finds something" : "finds nothing");
    ++whole_checks_;
  }

  void CorruptOne() {
    const uint64_t place = RandomPlace();
    const LiveRange& range = live_.At(place);
    SCOPED_TRACE("byte " + std::to_string(place) + ", of " + std::string(NameOf(range.what)));
    const std::string right = fs_.device.Peek(place, 1);
    const std::string wrong(1, static_cast<char>(right[0] ^ static_cast<char>(1 + prng_.Below(255))));
    fs_.device.Poke(place, wrong);
    Tally& tally = tallies_[static_cast<size_t>(range.what)];
    ++tally.corruptions;
    if (range.what == BytesOf::kNothing) {
      CheckUnusedByte(tally);
    } else if (range.what >= BytesOf::kData) {
      CheckTableByte(range, tally);
    } else {
      CheckOpeningByte(range, tally);
    }
    if (prng_.OneIn(kWholeCheckOneIn) && range.what != BytesOf::kLogTail) {
      CheckWhole(range.what != BytesOf::kNothing);
    }
    fs_.device.Poke(place, right);
  }

  void Report(uint64_t corruptions) {
    std::cout << corruptions << " corruptions of a store of " << live_bytes_ / kMiB << " MiB ("
              << truth_.size() << " records, " << live_.tables.size() << " tables), " << whole_checks_
              << " whole checks\n";
    for (size_t i = 0; i < kBytesOfKinds; ++i) {
      const Tally& tally = tallies_[i];
      std::cout << "  " << NameOf(static_cast<BytesOf>(i)) << ": " << tally.corruptions << " corruptions, "
                << tally.found << " found; reads: " << tally.reads_right << " right, " << tally.reads_failed
                << " refused\n";
    }
  }

  Prng prng_{0x5eed};
  StoredFs fs_;
  Truth truth_;
  LiveBytes live_;
  uint64_t live_bytes_ = 0;
  std::vector<std::pair<uint64_t, uint64_t>> used_;
  std::array<std::vector<std::pair<uint64_t, uint64_t>>, kBytesOfKinds> by_kind_;
  std::array<Tally, kBytesOfKinds> tallies_;
  uint64_t whole_checks_ = 0;
};

TEST_F(CorruptionSweep, EveryReadIsRightOrRefusedAndTheChecksFindWhatIsLive) {
  Fill();
  ReadTruth();
  FindUsed();
  for (const auto& [begin, end] : used_) {
    live_bytes_ += end - begin;
  }
  ASSERT_GE(live_bytes_, StoreBytes());
  for (const BytesOf what : {BytesOf::kLogGroup, BytesOf::kData, BytesOf::kIndex, BytesOf::kFilter}) {
    ASSERT_NE(live_.BytesOfKind(what), 0U) << NameOf(what);
  }
  CheckWhole(false);
  const uint64_t corruptions = FromEnvironment("VARVE_CORRUPTIONS", 400);
  for (uint64_t i = 0; i < corruptions && !HasFailure(); ++i) {
    CorruptOne();
  }
  CheckWhole(false);
  Report(corruptions);
}

}  // namespace
}  // namespace varve
