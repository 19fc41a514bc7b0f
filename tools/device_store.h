// The store on a device that is not mounted, as a tool uses it: opened, used by one thread, closed.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/result.h"
#include "engine/device/uring_device.h"
#include "engine/ring/reactor.h"
#include "engine/store/store.h"
#include "fs/ops/filesystem.h"
#include "tools/report.h"

namespace varve {

enum class Access { kRead, kWrite };

// Device and ring without a store on them: for mkfs, fsck and dump. Everything runs on the calling thread.
class OpenedDevice {
 public:
  // kBusy when the device is mounted or in use; the message says who holds it.
  static Result<std::unique_ptr<OpenedDevice>> Open(const std::string& path, Access access);

  BlockDevice& device() { return *device_; }
  Reactor& reactor() { return *reactor_; }
  const Clock& clock() const { return clock_; }
  Logger& logger() { return logger_; }

  // Blocks until `task` is done.
  template <typename T>
  T Run(Task<T> task) {
    return RunBlocking(*reactor_, std::move(task));
  }

 private:
  OpenedDevice() = default;

  SystemClock clock_;
  StandardErrorLogger logger_;
  std::unique_ptr<Reactor> reactor_;
  std::unique_ptr<BlockDevice> device_;
};

// The engine's store on an opened device, which must outlive it. Its background is the device's own reactor:
// it works while Run() does. To be closed by the caller. `cut_damaged_log`: see StoreOptions.
Result<std::unique_ptr<Store>> OpenStoreOn(OpenedDevice& opened, Access access, bool cut_damaged_log = false);

class DeviceStore {
 public:
  // With kRead nothing is written to the device, not even what recovery would.
  static Result<std::unique_ptr<DeviceStore>> Open(const std::string& path, Access access);
  // Closes what Close() did not; errors are lost then.
  ~DeviceStore();

  Store& store() { return *store_; }
  FileSystem& fs() { return *fs_; }
  // Everything written is durable when this succeeds. Nothing else may be called afterwards.
  Status Close();

  template <typename T>
  T Run(Task<T> task) {
    return device_->Run(std::move(task));
  }

 private:
  DeviceStore() = default;

  std::unique_ptr<OpenedDevice> device_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<FileSystem> fs_;
};

// Opens the store on `device`, has `work` do something with it, and closes it. Prints what fails, and gives
// the exit code: that of `work`, or kExitFailure when opening or closing failed.
template <typename Work>
int WithDeviceStore(std::string_view command, const std::string& device, Access access, Work&& work) {
  Result<std::unique_ptr<DeviceStore>> opened = DeviceStore::Open(device, access);
  if (!opened.ok()) {
    PrintFailure(command, device, device, opened.error());
    return kExitFailure;
  }
  const int exit_code = std::forward<Work>(work)(*opened.value());
  if (const Status closed = opened.value()->Close(); !closed.ok()) {
    PrintFailure(command, device, device, closed.error());
    return kExitFailure;
  }
  return exit_code;
}

}  // namespace varve
