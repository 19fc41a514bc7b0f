// Reads everything on a store at rest and says what is wrong: the engine's part of fsck. Writes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/key_range.h"
#include "engine/base/result.h"
#include "engine/device/block_device.h"
#include "engine/ring/task.h"

namespace varve {

struct StoreProblem {
  // In words that name the structure.
  std::string what;
  // Of a fault in a table: the keys whose newest version may be what cannot be read.
  std::optional<KeyRange> keys;
};

class CheckObserver {
 public:
  virtual ~CheckObserver() = default;
  // One fault. The check goes on behind it where it can.
  virtual void OnProblem(StoreProblem problem) = 0;
  // After each table.
  virtual void OnProgress(uint64_t done_bytes, uint64_t total_bytes) = 0;
};

enum class CheckDepth : uint8_t {
  kStructure,  // all but the insides of tables: quick, however large the store is
  kBlocks,     // every block
  kOrder,      // and whether reads find the newest version of every key first: reads all tables twice
};

struct CheckSummary {
  std::string label;
  uint64_t problems = 0;
  // Of these, such that only a superblock copy is bad: RepairSuperblock mends it.
  uint64_t superblock_problems = 0;
  // Of these, such that something in tables cannot be read, though it is known what and where.
  uint64_t table_problems = 0;
  // Of these, such that the log ends too early: StoreOptions::cut_damaged_log opens the store nonetheless.
  uint64_t log_problems = 0;
  uint64_t manifest_edits = 0;
  uint64_t tables = 0;
  uint64_t table_bytes = 0;
  uint64_t entries = 0;
  uint64_t wal_groups = 0;
  uint64_t wal_records = 0;
  // False where the manifest could not be read: nothing behind it was checked.
  bool complete = false;
};

// Superblock copies, manifest, the version's invariants, owners of space, the log's groups, and every block
// of every table with its checksum, order and counts. Errors: kNotFound (no store here), kUnsupported,
// kDeviceError; damage is no error but a problem, except where no superblock is left (kCorruption). `device`
// and `observer` must outlive the Task.
Task<Result<CheckSummary>> CheckStore(BlockDevice& device, CheckDepth depth, CheckObserver& observer);

// Writes the copy of the superblock that is bad anew, from the good one; nothing where both are good. Errors:
// those of SuperblockStore::Load. Precondition: nobody has the store open.
Task<Status> RepairSuperblock(BlockDevice& device);

}  // namespace varve
