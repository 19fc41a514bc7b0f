// FsClient: random operations below one directory of a filesystem, beside a plain model of it. Every answer
// must be the model's, or an error that an injected fault explains.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ring/task.h"
#include "fs/ops/filesystem.h"
#include "tests/fs/ops/model_fs.h"
#include "tests/sim/tree_oracle.h"
#include "tests/sim/world.h"

namespace varve::sim {

class FsClient {
 public:
  static constexpr Caller kCaller{1000, 100, 1};

  // All must outlive it.
  FsClient(size_t number, World& world, TreeOracle& oracle)
      : number_(number), world_(world), random_(world.random), oracle_(oracle) {}

  // `root` is what lies below its directory, whose inode it names; nothing is looked up yet.
  void Restart(ModelPtr root);
  // Until so many operations are done, or a fault leaves one of them unknown.
  Task<void> Run(FileSystem& fs, uint64_t operations);

  // Writes are large, and may be refused.
  bool fills_device = false;

 private:
  struct Spot {
    ModelPtr directory;
    std::string name;
    ModelPtr node;  // nullptr: the name is free
  };
  using Apply = std::function<ModelFs::Outcome()>;

  int64_t Now() const { return world_.clock.WallNanos(); }
  std::string DrawName();
  std::string DrawBytes();
  uint64_t DrawOffset();

  // These look up what they answer, as a kernel does. An empty pointer: a fault was in the way.
  Task<bool> Know(ModelPtr parent, std::string name, ModelPtr node);
  Task<ModelPtr> DrawDirectory();
  Task<Spot> DrawSpot();
  Task<ModelPtr> DrawNode();
  void Took(const ModelPtr& node, const Result<Attributes>& made);

  // Compares `got` with what the model says, and tells the oracle.
  void Conclude(std::string what, const Status& got, const Apply& apply);
  // Of an operation that changes nothing. False: an error.
  bool ReadDone(std::string_view what, const Status& got);

  Task<void> RunOne();
  Task<void> Make(uint32_t type);
  Task<void> Link();
  Task<void> Remove();
  Task<void> Rename();
  Task<void> Write();
  Task<void> Truncate();
  Task<void> ChangeMode();
  Task<void> Allocate();
  Task<void> Xattr();
  Task<void> Sync();
  Task<void> Read();
  Task<void> List();
  void Forget();

  const size_t number_;
  World& world_;
  Prng& random_;
  TreeOracle& oracle_;
  FileSystem* fs_ = nullptr;
  ModelPtr root_;
  std::vector<ModelPtr> known_;
  bool stopped_ = false;
  uint64_t values_ = 0;
};

}  // namespace varve::sim
