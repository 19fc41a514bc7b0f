#include "tests/sim/store_sim.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/store/check_store.h"
#include "engine/store/format_store.h"
#include "engine/store/store.h"
#include "tests/sim/fault_plan.h"
#include "tests/sim/store_clients.h"
#include "tests/sim/store_oracle.h"

namespace varve::sim {

namespace {

class FailOnProblem final : public CheckObserver {
 public:
  explicit FailOnProblem(std::vector<std::string>& problems) : problems_(problems) {}
  void OnProblem(StoreProblem problem) override { problems_.push_back(std::move(problem.what)); }
  void OnProgress(uint64_t /*done_bytes*/, uint64_t /*total_bytes*/) override {}

 private:
  std::vector<std::string>& problems_;
};

// What the statistics say, of all levels.
uint64_t BufferAnswersOf(std::string_view statistics) {
  constexpr std::string_view kName = "\"answered_by_buffer\":";
  uint64_t answers = 0;
  for (size_t at = statistics.find(kName); at != std::string_view::npos; at = statistics.find(kName, at)) {
    at += kName.size();
    answers += std::strtoull(statistics.data() + at, nullptr, 10);
  }
  return answers;
}

class StoreRun {
 public:
  StoreRun(uint64_t seed, Drawn techniques)
      : techniques_(seed, techniques),
        shape_(seed ^ 0x5a9e),
        full_device_(shape_.OneIn(40)),
        world_(seed, full_device_ ? kDeviceBytesSmall : kDeviceBytes, shape_.OneIn(3) ? 4096 : 512),
        random_(world_.random),
        trace_(world_.trace),
        device_(world_.device),
        clients_(1 + random_.Below(kClientsMax)),
        oracle_(clients_),
        workers_(world_, oracle_, clients_) {
    options_.memtable_bytes = random_.OneIn(4) ? 256 * kKiB : 16 * kKiB << random_.Below(3);
    options_.block_cache_bytes = random_.OneIn(3) ? 0 : 256 * kKiB;
    options_.table_bytes = 16 * kKiB << random_.Below(3);
    options_.level_ratio = 2 + static_cast<uint32_t>(random_.Below(6));
    options_.level0_tables_trigger = 1 + static_cast<uint32_t>(random_.Below(4));
    options_.commit_interval_nanos = uint64_t{1'000} << random_.Below(30);
    workers_.sleep_nanos_max = 2 * options_.commit_interval_nanos;
    workers_.fills_device = full_device_;
  }

  Outcome Run() {
    Format();
    const uint64_t rounds = full_device_ ? 2 : 1 + random_.Below(6);
    for (uint64_t round = 0; round < rounds && !world_.failed(); ++round) {
      RunRound(round, round + 1 == rounds);
    }
    if (!world_.failed() && !lied_) {
      FinalRound();
    }
    return world_.Finish();
  }

 private:
  static constexpr uint64_t kDeviceBytes = 96 * kMiB;
  static constexpr uint64_t kDeviceBytesSmall = 64 * kMiB;

  void Format() {
    FormatStoreOptions format;
    format.uuid = MakeUuid(world_.seed, 1);
    format.parameters.data_block_bytes = techniques_.block_bytes();
    const Result<Superblock> formatted =
        world_.executor.Run(FormatStore(device_, world_.clock, std::move(format)));
    if (!formatted.ok()) {
      trace_.Fail("format: {}", formatted.ToString());
    }
  }

  void RunRound(uint64_t round, bool last) {
    plan_ = DrawFaults(random_, last && round > 0);
    lied_ = lied_ || plan_.device.lies();
    trace_.Add("round {}: {}", round, Describe(plan_));
    if (full_device_) {
      // Long enough to fill it.
      plan_.operations += 2'000 / clients_;
    }
    device_.Plan(plan_.device);
    if (!Open()) {
      return EndAfterFailedOpen();
    }
    if (AdoptSurvivors()) {
      world_.executor.Run(workers_.Run(*store_, plan_.operations));
      CompareReads();
    }
    End();
  }

  // Everything is sound: what was promised is there, nothing is wrong, and it stays so over a close.
  void FinalRound() {
    trace_.Add("final round");
    device_.PowerOn();
    plan_ = {};
    if (!CheckAtRest() || !Open() || !AdoptSurvivors()) {
      return;
    }
    Close();
    if (!world_.failed() && Open() && AdoptSurvivors()) {
      Close();
    }
  }

  bool Open() {
    options_.techniques = techniques_.Next();
    options_.sst_log_share = DrawnTechniques::kLogShare;
    options_.level1_bytes = DrawnTechniques::Level1Bytes(options_);
    techniques_.DrawBuffers(options_);
    workers_.log_share = options_.techniques.sst_log ? options_.sst_log_share : 0;
    StoreEnvironment environment{.device = device_,
                                 .clock = world_.clock,
                                 .logger = world_.logger(),
                                 .background = {&world_.executor},
                                 .seed = random_.Next(),
                                 .installs = &world_.installs()};
    Result<std::unique_ptr<Store>> opened = world_.executor.Run(OpenStore(std::move(environment), options_));
    if (opened.ok()) {
      trace_.Add("open");
      store_ = std::move(*opened);
      return true;
    }
    world_.OnError("open", opened.status());
    return false;
  }

  void EndAfterFailedOpen() {
    if (!device_.off()) {
      device_.PowerOff();
    }
    AfterCrash();
  }

  // Reads everything and lets the oracle judge it. False: the round has nothing more to do.
  bool AdoptSurvivors() {
    adopted_ = false;
    Entries entries;
    const Status read = world_.executor.Run(ReadRange(*store_, "", "", {}, false, entries));
    if (!read.ok()) {
      world_.OnError("reading everything", read);
      for (const auto& [key, value] : entries) {
        Judge(oracle_.CheckWasWritten(key, value));
      }
      return false;
    }
    const State survived(entries.begin(), entries.end());
    Judge(oracle_.Adopt(survived, device_.lies() == 0));
    adopted_ = true;
    trace_.Add("survived: {}", ToString(oracle_.acknowledged()));
    return !world_.failed();
  }

  void Judge(const Problem& problem) {
    if (problem) {
      trace_.Fail("{}", *problem);
    }
  }

  void CompareReads() {
    const bool buffers = world_.version() != nullptr && world_.version()->buffer_bytes() > 0;
    if (buffers && !device_.off() && !world_.failed()) {
      world_.executor.Run(workers_.CompareGetsWithScan(*store_));
    }
    world_.figures.buffer_answers += BufferAnswersOf(store_->StatisticsJson());
  }

  void End() {
    workers_.LetGo();
    switch (device_.off() ? Ending::kPowerOff : plan_.ending) {
      case Ending::kClose:
        Close();
        break;
      case Ending::kPowerOff:
        if (!device_.off()) {
          device_.PowerOff();
        }
        CloseDead();
        break;
      case Ending::kKill:
        device_.Kill();
        CloseDead();
        break;
    }
    AfterCrash();
  }

  void Close() {
    const Counts acknowledged = oracle_.acknowledged();
    const Status closed = world_.executor.Run(store_->Close());
    store_.reset();
    trace_.Add("close: {}", closed.ToString());
    if (closed.ok()) {
      // Unless nobody could read what there was: then acknowledged is what was there before a crash.
      if (adopted_) {
        oracle_.Durable(acknowledged);
      }
    } else {
      world_.OnError("close", closed);
    }
  }

  void CloseDead() {
    (void)world_.executor.Run(store_->Close());
    store_.reset();
  }

  void AfterCrash() {
    ++world_.figures.crashes;
    if (!device_.off()) {
      // Closed; sometimes the power goes right after.
      if (random_.OneIn(2)) {
        device_.PowerOff();
      }
    }
    device_.PowerOn();
    if (lied_) {
      for (uint64_t i = random_.Below(4); i > 0; --i) {
        device_.Rot();
      }
      ReadWhatIsLeft();
    } else if (random_.OneIn(3)) {
      (void)CheckAtRest();
    }
  }

  // After destruction: whatever can still be read is what was written.
  void ReadWhatIsLeft() {
    if (!Open()) {
      return;
    }
    (void)AdoptSurvivors();
    for (size_t client = 0; client < clients_ && !world_.failed(); ++client) {
      for (uint64_t n = 0; n < kKeysOfClient; n += 1 + random_.Below(8)) {
        const Store::Lookup found = world_.executor.Run(store_->Get(KeyOf(client, n), {}));
        if (!found.ok()) {
          ++world_.figures.noticed;
        } else if (found->has_value()) {
          Judge(oracle_.CheckWasWritten(KeyOf(client, n), (*found)->bytes()));
        }
      }
    }
    CloseDead();
  }

  bool CheckAtRest() {
    std::vector<std::string> problems;
    FailOnProblem observer(problems);
    const Result<CheckSummary> checked =
        world_.executor.Run(CheckStore(device_, CheckDepth::kOrder, observer));
    if (!checked.ok()) {
      trace_.Fail("check: {}", checked.ToString());
      return false;
    }
    // A copy of the superblock may be torn; then there is the other.
    if (checked->problems > checked->superblock_problems) {
      trace_.Fail("check: {}", problems.back());
    }
    trace_.Add("check: {} tables, {} entries, {} groups of the log", checked->tables, checked->entries,
               checked->wal_groups);
    return !world_.failed();
  }

  DrawnTechniques techniques_;
  Prng shape_;
  const bool full_device_;
  World world_;
  Prng& random_;
  Trace& trace_;
  SimDevice& device_;
  const size_t clients_;
  StoreOracle oracle_;
  StoreOptions options_;
  FaultPlan plan_;
  std::unique_ptr<Store> store_;
  StoreClients workers_;
  // The oracle knows what this opening of the store has found.
  bool adopted_ = false;
  bool lied_ = false;
};

}  // namespace

Outcome SimulateStore(uint64_t seed, Drawn techniques) {
  return StoreRun(seed, techniques).Run();
}

}  // namespace varve::sim
