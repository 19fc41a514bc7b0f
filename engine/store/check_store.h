// Reads everything on a store at rest and says what is wrong: the engine's part of fsck. Writes nothing.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/result.h"
#include "engine/device/block_device.h"
#include "engine/ring/task.h"

namespace varve {

class CheckObserver {
 public:
  virtual ~CheckObserver() = default;
  // One fault, in words that name the structure. The check goes on behind it where it can.
  virtual void OnProblem(std::string problem) = 0;
  // After each table.
  virtual void OnProgress(uint64_t done_bytes, uint64_t total_bytes) = 0;
};

struct CheckSummary {
  std::string label;
  uint64_t problems = 0;
  // Of these, such that only a superblock copy is bad: the next update of the superblock mends it.
  uint64_t superblock_problems = 0;
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
// With `deep` also whether a read finds the newest version of every key first, which reads all tables a
// second time.
Task<Result<CheckSummary>> CheckStore(BlockDevice& device, bool deep, CheckObserver& observer);

}  // namespace varve
