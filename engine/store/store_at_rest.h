// A store that nobody has opened, read step by step: what checks and dumps begin with.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/device/block_device.h"
#include "engine/ring/task.h"
#include "engine/space/superblock.h"
#include "engine/version/live_table.h"
#include "engine/version/manifest_reader.h"
#include "engine/wal/wal_reader.h"

namespace varve {

struct StoreAtRest {
  Superblock superblock;
  // What is wrong with a copy of the superblock, though the other one is good.
  std::vector<std::string> superblock_problems;
  ManifestContent manifest;
};

// Errors: those of SuperblockStore::Load.
Task<Result<StoreAtRest>> ReadSuperblockAtRest(BlockDevice& device);
// The same and the manifest. `visit` as in ReadManifest.
Task<Result<StoreAtRest>> ReadStoreAtRest(BlockDevice& device, ManifestVisitor visit);

// What a reader of its log is given.
WalReaderOptions WalOptionsOf(const StoreAtRest& store);

// Bytes of keys in a form that a terminal shows: printable ASCII as it is, the rest as \xHH.
std::string PrintableKey(std::string_view key);

}  // namespace varve
