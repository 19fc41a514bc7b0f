#include "engine/store/check_store.h"

#include <fmt/core.h>

#include <memory>
#include <set>
#include <utility>

#include "engine/base/batch_records.h"
#include "engine/cache/block_cache.h"
#include "engine/space/extent_allocator.h"
#include "engine/space/layout.h"
#include "engine/space/superblock_store.h"
#include "engine/store/check_order.h"
#include "engine/store/store_at_rest.h"
#include "engine/table/table_reader.h"
#include "engine/version/invariants.h"

namespace varve {

namespace {

// Verification bypasses the cache.
constexpr uint64_t kCacheBytes = 1 * kMiB;

class Checker final : private TableVerifierObserver {
 public:
  Checker(BlockDevice& device, CheckDepth depth, CheckObserver& observer)
      : device_(device), depth_(depth), observer_(observer) {}

  Task<Result<CheckSummary>> Run() {
    Result<StoreAtRest> superblock = co_await ReadSuperblockAtRest(device_);
    if (!superblock.ok()) {
      co_return superblock.error();
    }
    summary_.label = superblock.value().superblock.label;
    for (const std::string& problem : superblock.value().superblock_problems) {
      Report(fmt::format("superblock: {}", problem));
      ++summary_.superblock_problems;
    }
    Result<StoreAtRest> store = co_await ReadStoreAtRest(device_, nullptr);
    if (!store.ok()) {
      if (!store.Is(ErrorCode::kCorruption)) {
        co_return store.error();
      }
      Report(fmt::format("manifest: {}", store.error().message()));
      co_return summary_;
    }
    const StoreAtRest& at_rest = store.value();
    summary_.manifest_edits = at_rest.manifest.edits;
    for (const std::string& violation : CheckVersion(at_rest.manifest.version)) {
      Report(violation);
    }
    CheckManifestSpace(at_rest);
    const Status log = co_await CheckLog(at_rest);
    if (!log.ok()) {
      co_return log.error();
    }
    if (depth_ != CheckDepth::kStructure) {
      const Status tables = co_await CheckTables(at_rest);
      if (!tables.ok()) {
        co_return tables.error();
      }
    }
    summary_.complete = true;
    co_return summary_;
  }

 private:
  void Report(std::string problem) {
    ++summary_.problems;
    observer_.OnProblem({std::move(problem), std::nullopt});
  }
  void OnFault(TableFault fault) override {
    ++summary_.problems;
    ++summary_.table_problems;
    observer_.OnProblem({std::move(fault.what), std::move(fault.keys)});
  }
  Task<Status> BeforeRead(uint64_t /*bytes*/) override { co_return OkStatus(); }

  // CheckVersion has compared tables and log segments; left is that all lies on the device, and off the
  // manifest.
  void CheckManifestSpace(const StoreAtRest& store) {
    const Result<Layout> layout = Layout::ForDevice(store.superblock.device_bytes);
    if (!layout.ok()) {
      Report(fmt::format("superblock: {}", layout.error().message()));
      return;
    }
    ExtentAllocator allocator(layout.value(), 0);
    MarkUsed(allocator, store.superblock.manifest.extents, "the manifest");
    for (const WalSegment& segment : store.manifest.version.wal_segments()) {
      MarkUsed(allocator, {segment.extent}, fmt::format("segment {} of the log", segment.number));
    }
    // Generations of one table share space.
    std::set<uint64_t> marked;
    store.manifest.version.ForEachTable([&](const LiveTable& table) {
      if (!marked.insert(table.id().value).second) {
        return;
      }
      std::vector<Extent> extents;
      for (const TableExtent& part : table.view().extents) {
        extents.push_back(part.extent);
      }
      MarkUsed(allocator, extents, fmt::format("table {}", table.id().value));
    });
  }

  void MarkUsed(ExtentAllocator& allocator, const std::vector<Extent>& extents, const std::string& owner) {
    const Status marked = allocator.MarkUsed(extents, owner);
    if (!marked.ok()) {
      Report(marked.error().message());
    }
  }

  Task<Status> CheckLog(const StoreAtRest& store) {
    if (store.manifest.version.counters().clean) {
      co_return OkStatus();
    }
    WalReader reader(device_, WalOptionsOf(store));
    while (true) {
      const Result<std::optional<WalGroup>> group = co_await reader.Next();
      if (!group.ok()) {
        Report(fmt::format("log: {}", group.error().message()));
        ++summary_.log_problems;
        co_return OkStatus();
      }
      if (!group.value().has_value()) {
        co_return OkStatus();
      }
      const WalGroup& found = *group.value();
      ++summary_.wal_groups;
      const Result<BatchRecordTotals> totals = CheckBatchRecords(found.records);
      if (!totals.ok()) {
        Report(fmt::format("log: group {}: {}", found.header.lsn.value, totals.error().message()));
        continue;
      }
      summary_.wal_records += totals.value().records;
    }
  }

  Task<Status> CheckTables(const StoreAtRest& store) {
    std::vector<const LiveTable*> tables;
    uint64_t total_bytes = 0;
    std::set<std::pair<uint64_t, uint64_t>> seen;
    store.manifest.version.ForEachTable([&](const LiveTable& table) {
      if (seen.emplace(table.id().value, table.generation().value).second) {
        tables.push_back(&table);
        total_bytes += table.view().held_bytes();
      }
    });
    BlockCache cache(kCacheBytes);
    const TableEnvironment environment{
        .device = device_, .cache = cache, .store_uuid = store.superblock.uuid};
    for (const LiveTable* table : tables) {
      const Status verified = co_await VerifyTable(environment, table->view(), *this);
      if (!verified.ok()) {
        co_return verified;
      }
      ++summary_.tables;
      summary_.entries += table->entries();
      summary_.table_bytes += table->view().held_bytes();
      observer_.OnProgress(summary_.table_bytes, total_bytes);
    }
    // A block that cannot be read hides the order of what it holds.
    if (depth_ == CheckDepth::kOrder && summary_.table_problems == 0) {
      const std::function<void(std::string)> report = [this](std::string problem) {
        Report(std::move(problem));
      };
      co_await CheckReadOrder(environment, store.manifest.version, report);
    }
    co_return OkStatus();
  }

  BlockDevice& device_;
  CheckDepth depth_;
  CheckObserver& observer_;
  CheckSummary summary_;
};

}  // namespace

Task<Result<CheckSummary>> CheckStore(BlockDevice& device, CheckDepth depth, CheckObserver& observer) {
  Checker checker(device, depth, observer);
  co_return co_await checker.Run();
}

Task<Status> RepairSuperblock(BlockDevice& device) {
  SuperblockStore superblocks(device);
  const Result<Superblock> loaded = co_await superblocks.Load();
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  co_return co_await superblocks.MendBadCopy();
}

}  // namespace varve
