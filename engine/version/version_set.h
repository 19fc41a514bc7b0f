// VersionSet: the newest Version and the manifest that makes it durable. Finished jobs install their edits
// here, one at a time; each install is one manifest record, durable before the new Version is seen by anyone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/logger.h"
#include "engine/base/result.h"
#include "engine/device/block_device.h"
#include "engine/ring/async_mutex.h"
#include "engine/ring/task.h"
#include "engine/space/extent.h"
#include "engine/version/live_table.h"
#include "engine/version/version.h"
#include "engine/version/version_edit.h"

namespace varve {

class ExtentAllocator;
class ManifestWriter;
struct ManifestContent;
class SuperblockStore;

// Hears of installs in their order, before Install ends, while the next install waits: the place to publish
// what readers see. Must not install.
class InstallObserver {
 public:
  virtual ~InstallObserver() = default;
  // `edit` is what was recorded: with its stamps and holes.
  virtual void OnInstalled(const std::shared_ptr<const Version>& version, const VersionEdit& edit) = 0;
};

struct VersionSetEnvironment {
  BlockDevice& device;
  ExtentAllocator& allocator;
  SuperblockStore& superblocks;
  Logger& logger;
  // Both may be nullptr.
  InstallObserver* installs = nullptr;
  TableObserver* releases = nullptr;
};

// Threads: Install and Roll from any executor, concurrently; the rest from any thread.
class VersionSet {
 public:
  // Reads the manifest that the superblock names (kCorruption, kUnsupported, kDeviceError) and checks the
  // recovered Version against the invariants. The allocator must hold nothing as taken yet: what the Version
  // and the manifest hold is marked taken in it. Writes nothing: the manifest is rolled at the first install
  // where recovery found a torn record behind the end.
  static Task<Result<std::unique_ptr<VersionSet>>> Open(VersionSetEnvironment environment);

  // Releases of tables are not reported any more: what is live stays live on the device.
  ~VersionSet();

  std::shared_ptr<const Version> current() const;
  // Whether no reader holds an older generation of a table of the current Version.
  bool HasOneGeneration(TableId id) const { return tables_->HasOneGeneration(id); }
  // How many tables the current Version no longer names and older ones, which readers hold, still do. Their
  // space is released when the readers let go. Walks the current Version.
  size_t replaced_tables_held() const;
  // Never handed out before in the life of the store, crashes included. Precondition: something was installed
  // since Open (the edit that opens a new epoch), and the last edit was not that of a clean close.
  TableId NewTableId();

  // Completes `edit` (stamps, counters, holes), applies it to the newest Version, makes it durable, and
  // publishes the result. One that changes only buffers is not recorded, and may only trim. kCorruption: the
  // edit does not fit, nothing was done. Any other error: the record's fate on the device is unknown; every
  // later Install answers kReadOnly, and space that the edit names must not be reused. Precondition: the
  // tables that the edit adds are durable.
  Task<Result<std::shared_ptr<const Version>>> Install(VersionEdit edit);

  // What the last close has saved of the HotMap, once, before anything is installed; empty where it has not.
  std::string TakeHotMap() { return std::exchange(recovered_hot_map_, {}); }

  // A fresh snapshot in new extents; the old ones are given back. Install does this by itself when the
  // manifest is full.
  Task<Status> Roll();

  // Reads superblock and manifest again, while no install can change them, and holds what they say against
  // what is in memory: what is wrong on the device, in words. kDeviceError.
  Task<Result<std::vector<std::string>>> VerifyOnDevice();

  // The manifest's extents, for space accounting and dumps.
  std::vector<Extent> manifest_extents() const;

 private:
  VersionSet(VersionSetEnvironment environment, std::unique_ptr<ManifestWriter> manifest,
             ManifestContent& content, std::shared_ptr<const Version> version,
             std::shared_ptr<LiveTables> tables);

  void Complete(VersionEdit& edit);
  std::shared_ptr<const Version> Publish(const VersionEdit& edit, Version applied);
  Task<Status> MakeRecoveredDurable();
  Task<Status> RollLocked(size_t room_for_edit_bytes);
  Error Failed(const Error& cause);
  void SetCurrent(std::shared_ptr<const Version> version);

  VersionSetEnvironment environment_;
  // One installer at a time; held over the manifest write.
  AsyncMutex install_mutex_;
  // The next five: under install_mutex_.
  std::unique_ptr<ManifestWriter> manifest_;
  bool clean_end_;
  // An earlier process may have left what Open has read in the device's cache, and a flush may have failed
  // then: a flush alone does not make that durable. A durable record behind one that is lost with the power
  // would look like damage, so the first install writes again what may not be durable.
  bool recovered_is_durable_ = false;
  std::optional<std::string> recovered_edit_;  // ManifestContent::last_edit, until then
  std::string recovered_hot_map_;
  Status failure_;
  std::shared_ptr<LiveTables> tables_;
  std::atomic<uint64_t> next_table_id_;
  // Ids below are covered by a durable record.
  std::atomic<uint64_t> table_id_limit_;
  // For the next two.
  mutable std::mutex current_mutex_;
  std::shared_ptr<const Version> current_;
  std::vector<Extent> manifest_extents_;
};

}  // namespace varve
