#include "tests/sim/fs_sim.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/ring/when_all.h"
#include "engine/store/format_store.h"
#include "engine/store/store.h"
#include "fs/ops/check_namespace.h"
#include "tests/sim/fault_plan.h"
#include "tests/sim/fs_client.h"
#include "tests/sim/tree_oracle.h"
#include "tests/sim/tree_reader.h"

namespace varve::sim {

namespace {

constexpr size_t kFsClientsMax = 3;

class FailOnProblem final : public NamespaceCheckSink {
 public:
  explicit FailOnProblem(Trace& trace) : trace_(trace) {}
  void Problem(const NamespaceProblem& problem) override {
    trace_.Fail("namespace: inode {}: {}", problem.inode.value, problem.what);
  }
  void Progress(uint64_t /*records*/) override {}

 private:
  Trace& trace_;
};

class FsRun {
 public:
  FsRun(uint64_t seed, Drawn techniques)
      : techniques_(seed, techniques),
        full_device_(Prng(seed ^ 0xf11ed).OneIn(60)),
        world_(seed, full_device_ ? kDeviceBytesSmall : kDeviceBytes, seed % 3 == 0 ? 4096 : 512),
        random_(world_.random),
        trace_(world_.trace),
        device_(world_.device),
        count_(1 + random_.Below(kFsClientsMax)),
        oracle_(count_, TreeDigest(ModelNode())) {
    options_.memtable_bytes = 32 * kKiB << random_.Below(5);
    options_.block_cache_bytes = random_.OneIn(3) ? 0 : 256 * kKiB;
    options_.table_bytes = 32 * kKiB << random_.Below(3);
    if (full_device_) {
      // What the store chooses for such a device: tables of the size of an allocation unit waste half of it.
      options_.table_bytes = 512 * kKiB;
    }
    options_.level_ratio = 2 + static_cast<uint32_t>(random_.Below(6));
    options_.level0_tables_trigger = 1 + static_cast<uint32_t>(random_.Below(4));
    options_.commit_interval_nanos = uint64_t{1'000} << random_.Below(30);
    for (size_t i = 0; i < count_; ++i) {
      clients_.push_back(std::make_unique<FsClient>(i, world_, oracle_));
      clients_.back()->fills_device = full_device_;
    }
  }

  Outcome Run() {
    Format();
    const uint64_t rounds = full_device_ ? 2 : 1 + random_.Below(6);
    for (uint64_t round = 0; round < rounds && !world_.failed(); ++round) {
      RunRound(round, round + 1 == rounds);
    }
    if (!world_.failed() && device_.lies() == 0) {
      plan_ = {};
      for (int i = 0; i < 2 && Mount(); ++i) {
        (void)AdoptSurvivors();
        Unmount();
      }
    }
    return world_.Finish();
  }

 private:
  static constexpr uint64_t kDeviceBytes = 96 * kMiB;
  static constexpr uint64_t kDeviceBytesSmall = 64 * kMiB;

  void Format() {
    FormatStoreOptions format;
    format.uuid = MakeUuid(world_.seed, 2);
    format.parameters.data_block_bytes = techniques_.block_bytes();
    const Result<Superblock> formatted =
        world_.executor.Run(FormatStore(device_, world_.clock, std::move(format)));
    if (!formatted.ok()) {
      trace_.Fail("format: {}", formatted.ToString());
    }
    if (Mount()) {
      for (size_t i = 0; i < count_; ++i) {
        const Result<Attributes> made =
            world_.executor.Run(fs_->MakeDirectory(kRootInode, NameOf(i), S_IFDIR | 0755, FsClient::kCaller));
        if (!made.ok()) {
          trace_.Fail("mkdir: {}", made.ToString());
        }
      }
      Unmount();
    }
  }

  static std::string NameOf(size_t client) { return "client" + std::to_string(client); }

  void RunRound(uint64_t round, bool last) {
    plan_ = DrawFaults(random_, last && round > 0);
    trace_.Add("round {}: {}", round, Describe(plan_));
    if (full_device_) {
      // Long enough to fill it.
      plan_.operations += 1'000 / count_;
      if (round == 0) {
        plan_.device.power_off_after.reset();
      }
    }
    device_.Plan(plan_.device);
    if (Mount()) {
      if (AdoptSurvivors()) {
        std::vector<Task<Status>> running;
        for (const std::unique_ptr<FsClient>& client : clients_) {
          running.push_back(Work(*client));
        }
        (void)world_.executor.Run(WhenAllOk(std::move(running)));
      }
      End();
    }
    AfterCrash();
  }

  Task<Status> Work(FsClient& client) {
    co_await client.Run(*fs_, plan_.operations);
    co_return OkStatus();
  }

  bool Mount() {
    options_.techniques = techniques_.Next();
    options_.sst_log_share = DrawnTechniques::kLogShare;
    options_.level1_bytes = DrawnTechniques::Level1Bytes(options_);
    techniques_.DrawBuffers(options_);
    StoreEnvironment environment{.device = device_,
                                 .clock = world_.clock,
                                 .logger = world_.logger(),
                                 .background = {&world_.executor},
                                 .seed = random_.Next(),
                                 .installs = &world_.installs()};
    Result<std::unique_ptr<Store>> opened = world_.executor.Run(OpenStore(std::move(environment), options_));
    if (!opened.ok()) {
      world_.OnError("open", opened.status());
      return false;
    }
    store_ = std::move(*opened);
    FileSystemOptions options;
    options.format = {1024, 4096};
    Result<std::unique_ptr<FileSystem>> mounted = world_.executor.Run(FileSystem::Mount(
        FileSystemEnvironment{*store_, world_.clock, world_.logger(), world_.executor}, options));
    if (!mounted.ok()) {
      world_.OnError("mount", mounted.status());
      CloseStore();
      return false;
    }
    trace_.Add("mount");
    fs_ = std::move(*mounted);
    return true;
  }

  // Reads all trees, lets the oracle judge them, and checks the namespace. False: the round has nothing more
  // to do.
  bool AdoptSurvivors() {
    adopted_ = false;
    std::vector<ModelPtr> roots;
    std::vector<uint64_t> digests;
    for (size_t i = 0; i < count_; ++i) {
      auto root = std::make_shared<ModelNode>();
      root->mode = S_IFDIR | 0755;
      root->parent = root.get();
      const Status read = world_.executor.Run(ReadClientTree(i, root));
      if (!read.ok()) {
        world_.OnError("reading a tree", read);
        return false;
      }
      digests.push_back(TreeDigest(*root));
      trace_.Add("tree of client {}: {:x}", i, digests.back());
      roots.push_back(std::move(root));
    }
    if (const Problem problem = oracle_.Adopt(digests, device_.lies() == 0)) {
      for (const ModelPtr& root : roots) {
        trace_.Add("{}", DescribeTree(*root));
      }
      trace_.Fail("{}", *problem);
      return false;
    }
    adopted_ = true;
    for (size_t i = 0; i < count_; ++i) {
      clients_[i]->Restart(roots[i]);
    }
    return CheckNames();
  }

  Task<Status> ReadClientTree(size_t client, ModelPtr root) {
    const Result<Attributes> found = co_await fs_->Lookup(kRootInode, NameOf(client));
    if (!found.ok()) {
      co_return found.status();
    }
    root->inode = found->inode;
    co_return co_await ReadTree(*fs_, root);
  }

  bool CheckNames() {
    // Now and then with the orphans that are still being removed.
    if (random_.OneIn(2)) {
      const Status finished = world_.executor.Run(fs_->FinishRemovals());
      if (!finished.ok()) {
        world_.OnError("removing orphans", finished);
        return false;
      }
    }
    FailOnProblem sink(trace_);
    const Result<NamespaceSummary> checked = world_.executor.Run(CheckNamespace(*store_, sink));
    if (!checked.ok()) {
      world_.OnError("checking the namespace", checked.status());
      return false;
    }
    trace_.Add("namespace: {} names, {} chunks, {} orphans", checked->names, checked->chunks,
               checked->orphans);
    return !world_.failed();
  }

  void End() {
    if (!device_.off() && plan_.ending != Ending::kClose) {
      if (plan_.ending == Ending::kKill) {
        device_.Kill();
      } else {
        device_.PowerOff();
      }
    }
    Unmount();
  }

  void Unmount() {
    const Counts acknowledged = oracle_.acknowledged();
    const Status unmounted = world_.executor.Run(fs_->Unmount());
    fs_.reset();
    trace_.Add("unmount: {}", unmounted.ToString());
    if (!unmounted.ok()) {
      world_.OnError("unmount", unmounted);
    } else if (adopted_ && !device_.off()) {
      oracle_.Durable(acknowledged);
    }
    CloseStore();
  }

  void CloseStore() {
    const Status closed = world_.executor.Run(store_->Close());
    store_.reset();
    if (!closed.ok()) {
      world_.OnError("close", closed);
    }
  }

  void AfterCrash() {
    ++world_.figures.crashes;
    if (!device_.off() && random_.OneIn(2)) {
      device_.PowerOff();
    }
    device_.PowerOn();
    if (device_.lies() > 0) {
      device_.Rot();
      if (Mount()) {
        (void)AdoptSurvivors();
        Unmount();
      }
    }
  }

  DrawnTechniques techniques_;
  const bool full_device_;
  World world_;
  Prng& random_;
  Trace& trace_;
  SimDevice& device_;
  const size_t count_;
  TreeOracle oracle_;
  StoreOptions options_;
  FaultPlan plan_;
  std::vector<std::unique_ptr<FsClient>> clients_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<FileSystem> fs_;
  // The oracle knows what this mount has found.
  bool adopted_ = false;
};

}  // namespace

Outcome SimulateFileSystem(uint64_t seed, Drawn techniques) {
  return FsRun(seed, techniques).Run();
}

}  // namespace varve::sim
