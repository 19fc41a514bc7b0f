// StoreClients: several clients at once on one store, each with keys of its own: writes, reads, scans,
// snapshots, syncs. StoreOracle judges every answer.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/ring/task.h"
#include "engine/store/store.h"
#include "tests/sim/store_oracle.h"
#include "tests/sim/world.h"

namespace varve::sim {

class StoreClients {
 public:
  // `world` and `oracle` must outlive it.
  StoreClients(World& world, StoreOracle& oracle, size_t count)
      : world_(world),
        random_(world.random),
        range_random_(world.seed ^ 0x4a9e),
        oracle_(oracle),
        count_(count) {}

  uint64_t sleep_nanos_max = 1;
  // Writes much, and may be told that there is no space.
  bool fills_device = false;
  // Of what the store's Logs may hold, of the bytes in Trees.
  double log_share = 0;

  // Until each client has done so many, or the device is off.
  Task<void> Run(Store& store, uint64_t operations);
  // Every key by itself, and all as an iterator has them (which asks no buffer), at one snapshot: must be the
  // same.
  Task<void> CompareGetsWithScan(Store& store);
  // Of all snapshots: before the store is closed.
  void LetGo() { snapshots_.clear(); }

 private:
  struct Held {
    std::shared_ptr<const Snapshot> snapshot;
    StoreOracle::View view;
  };

  void Judge(const Problem& problem);
  std::vector<Record> DrawRecords(size_t client);
  // Of neighbours: some are written, or a range of them deleted.
  void AddNeighbours(size_t client, std::vector<Record>& records);
  std::string DrawKey(size_t client);

  Task<Status> Work(size_t client, uint64_t operations);
  Task<void> Write(size_t client);
  Task<void> Sync();
  Task<void> Settle();
  void CheckSettled();
  Task<void> Get(size_t client);
  Task<void> ScanView(const StoreOracle::View& view, const Snapshot* snapshot);
  Task<void> Scan();
  Task<void> ScanSnapshot();

  World& world_;
  Prng& random_;
  // Of its own: kept seeds draw everything else as they did.
  Prng range_random_;
  StoreOracle& oracle_;
  const size_t count_;
  Store* store_ = nullptr;
  std::deque<Held> snapshots_;
  uint64_t values_ = 0;
};

// Everything in [lower, upper) (empty: no bound) as an iterator yields it, up to its first error.
Task<Status> ReadRange(Store& store, std::string lower, std::string upper, ReadOptions options, bool backward,
                       Entries& entries);

}  // namespace varve::sim
