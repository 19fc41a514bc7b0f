// Writes a manifest: makes a fresh one from a Version, and appends records to it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/base/result.h"
#include "engine/device/block_device.h"
#include "engine/ring/task.h"
#include "engine/space/extent_allocator.h"
#include "engine/space/superblock.h"
#include "engine/version/version.h"
#include "engine/version/version_edit.h"

namespace varve {

// One call at a time; any executor.
class ManifestWriter {
 public:
  // Continues the manifest at `location` behind its last record: ManifestContent::end and next_record, if it
  // has a clean end.
  ManifestWriter(BlockDevice& device, const Uuid& store, ManifestLocation location, uint64_t end,
                 uint32_t next_record);

  // Writes a snapshot of `version` as manifest `number` into new extents, with room for an edit of
  // `edit_bytes` at the least, durable when the Task ends. Nobody knows of it before the superblock names its
  // location. Errors: kNoSpace, kDeviceError; the extents were given back.
  static Task<Result<std::unique_ptr<ManifestWriter>>> Create(BlockDevice& device, ExtentAllocator& allocator,
                                                              const Uuid& store, uint64_t number,
                                                              const Version& version, size_t edit_bytes);

  const ManifestLocation& location() const { return location_; }
  // Whether an edit of this many bytes can be appended.
  bool Fits(size_t edit_bytes) const;
  // Durable when the Task ends. Precondition: Fits. After an error the record may be there or not: nothing
  // more may be appended to this manifest.
  Task<Status> Append(std::string_view encoded_edit);
  // Writes the last record, which is `encoded_edit`, again where it lies, the same bytes: durable when the
  // Task ends.
  Task<Status> WriteLastAgain(std::string_view encoded_edit);

 private:
  Task<Status> WriteEdit(uint64_t position, uint32_t record, std::string_view encoded_edit);
  Task<Status> WriteAt(uint64_t position, std::string_view bytes, Persistence persistence);
  Task<Status> WriteSnapshot(std::string_view sectors);

  BlockDevice& device_;
  uint64_t seed_;
  ManifestLocation location_;
  uint64_t capacity_;
  uint64_t end_;
  uint32_t next_record_;
};

// For mkfs: the manifest of a store that consists of nothing but what `first` says. The caller formats the
// superblock with the location. Errors as ManifestWriter::Create.
Task<Result<ManifestLocation>> CreateManifest(BlockDevice& device, ExtentAllocator& allocator,
                                              const Uuid& store, VersionEdit first);

}  // namespace varve
