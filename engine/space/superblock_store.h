// SuperblockStore: reads the best copy of the superblock and replaces both copies so that one is valid at any
// moment.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/device/block_device.h"
#include "engine/ring/task.h"
#include "engine/space/layout.h"
#include "engine/space/superblock.h"

namespace varve {

// One call at a time; any executor.
class SuperblockStore {
 public:
  // `device` must outlive it.
  explicit SuperblockStore(BlockDevice& device) : device_(device) {}

  // Reads both copies and chooses the valid one of the highest generation. Where the store was made with
  // larger sectors than the device has, the device is told to use the store's. Errors, each naming the cause
  // and what to do: kNotFound (no store here, and what else libblkid finds), kCorruption (both copies
  // damaged, or the device is smaller than the store), kUnsupported (a format or feature that this version
  // does not know, or larger sectors than the store's), kDeviceError.
  Task<Result<Superblock>> Load();
  // What was wrong with the copy that was not chosen: for the log and for fsck. Empty when both copies are
  // good and equal; a copy that is merely one update behind is not wrong.
  const std::vector<std::string>& problems() const { return problems_; }

  // For mkfs: writes both copies of `superblock`, whatever was there. Preconditions: its device and sector
  // sizes are the device's.
  Task<Status> Format(Superblock superblock);
  // Writes `next` with the next generation, the worse copy first; durable in both when this succeeds, and
  // only then may what the old one named be freed. After an error either may be found by the next Load():
  // keep both, and write nothing more. Precondition: Load() or Format() succeeded.
  Task<Status> Update(Superblock next);

  // Load() may have chosen a copy that an earlier process left in the device's cache, where a flush that
  // failed may have lost it. Writes that copy again, the same bytes, if the other one is behind it; durable
  // when this succeeds. Before anything else is written that current() names. Precondition: Load() or
  // Format() succeeded.
  Task<Status> MakeDurable();
  // Writes the copy of which problems() tells anew, as it should be; durable when this succeeds. The copy in
  // use is not touched. Precondition: Load() succeeded.
  Task<Status> MendBadCopy();

  // The one loaded or written last. Precondition: Load() or Format() succeeded.
  const Superblock& current() const { return *current_; }

 private:
  struct Copy {
    DeviceOffset offset;
    std::optional<Result<Superblock>> read;
  };

  Task<void> ReadCopy(uint32_t copy, DeviceOffset offset, std::optional<Result<Superblock>>& into);
  Task<Status> WriteCopy(uint32_t copy, const Superblock& superblock);
  Error NothingFound(const std::array<Copy, kSuperblockCopies>& copies) const;
  Status Adopt(const Superblock& chosen);

  BlockDevice& device_;
  std::optional<Superblock> current_;
  // The copy that an update writes first: bad, or the older one.
  uint32_t worse_copy_ = 1;
  // The other copy is good and one or more updates behind. (Of two equal ones the first was durable before
  // the second was written.)
  bool may_not_be_durable_ = false;
  std::vector<std::string> problems_;
};

}  // namespace varve
