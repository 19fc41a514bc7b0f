// Structures of a store at rest as text, for people who look for a fault or want to learn the formats. Writes
// nothing.
#pragma once

#include <functional>
#include <string_view>

#include "engine/base/result.h"
#include "engine/base/units.h"
#include "engine/device/block_device.h"
#include "engine/ring/task.h"

namespace varve {

// One line, without a newline.
using DumpLine = std::function<void(std::string_view)>;

// Errors of all: kNotFound (no store here, or no such table), kCorruption, kUnsupported, kDeviceError; what
// was read before an error has been handed out. `device` must outlive the Task.

// The superblock that holds, and what is wrong with its copies.
Task<Status> DumpSuperblock(BlockDevice& device, DumpLine line);
// Each edit in order, then the version that they make.
Task<Status> DumpManifest(BlockDevice& device, DumpLine line);
// The groups of the log that a recovery would replay; keys and sizes of their records.
Task<Status> DumpWal(BlockDevice& device, DumpLine line);
// One table of the newest version: its shape, then each record.
Task<Status> DumpTable(BlockDevice& device, TableId table, DumpLine line);

}  // namespace varve
