#include "tools/device_store.h"

#include "fs/namespace/namespace_format.h"

namespace varve {

namespace {

// A tool passes once over what it reads.
constexpr size_t kToolCacheBytes = 64 * kMiB;

}  // namespace

Result<std::unique_ptr<OpenedDevice>> OpenedDevice::Open(const std::string& path, Access access) {
  std::unique_ptr<OpenedDevice> opened(new OpenedDevice());
  Result<std::unique_ptr<Reactor>> reactor = Reactor::Create(ReactorOptions(), opened->clock_);
  if (!reactor.ok()) {
    return reactor.error();
  }
  opened->reactor_ = std::move(reactor).value();
  UringDeviceOptions options;
  options.read_only = access == Access::kRead;
  Result<std::unique_ptr<ClaimedDevice>> device = OpenUringDevice(path, options);
  if (!device.ok()) {
    return device.error();
  }
  opened->device_ = std::move(device).value();
  return opened;
}

Result<std::unique_ptr<Store>> OpenStoreOn(OpenedDevice& opened, Access access, bool cut_damaged_log) {
  StoreEnvironment environment{.device = opened.device(),
                               .clock = opened.clock(),
                               .logger = opened.logger(),
                               .background = {&opened.reactor()},
                               .seed = opened.clock().MonotonicNanos()};
  StoreOptions options;
  options.read_only = access == Access::kRead;
  options.cut_damaged_log = cut_damaged_log;
  options.block_cache_bytes = kToolCacheBytes;
  options.outlines = OutlinesOfDirents();
  return opened.Run(OpenStore(environment, options));
}

Result<std::unique_ptr<DeviceStore>> DeviceStore::Open(const std::string& path, Access access) {
  Result<std::unique_ptr<OpenedDevice>> device = OpenedDevice::Open(path, access);
  if (!device.ok()) {
    return device.error();
  }
  std::unique_ptr<DeviceStore> opened(new DeviceStore());
  opened->device_ = std::move(device).value();
  OpenedDevice& on = *opened->device_;
  Result<std::unique_ptr<Store>> store = OpenStoreOn(on, access);
  if (!store.ok()) {
    return store.error();
  }
  opened->store_ = std::move(store).value();

  FileSystemEnvironment fs_environment{
      .store = *opened->store_, .clock = on.clock(), .logger = on.logger(), .background = on.reactor()};
  FileSystemOptions fs_options;
  fs_options.read_only = access == Access::kRead;
  Result<std::unique_ptr<FileSystem>> fs = opened->Run(FileSystem::Mount(fs_environment, fs_options));
  if (!fs.ok()) {
    return fs.error();
  }
  opened->fs_ = std::move(fs).value();
  return opened;
}

DeviceStore::~DeviceStore() {
  const Status closed = Close();
  static_cast<void>(closed);
}

Status DeviceStore::Close() {
  Status first;
  if (fs_ != nullptr) {
    first = Run(fs_->Unmount());
    fs_.reset();
  }
  if (store_ != nullptr) {
    const Status closed = Run(store_->Close());
    store_.reset();
    if (first.ok()) {
      first = closed;
    }
  }
  return first;
}

}  // namespace varve
