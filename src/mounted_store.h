// MountedStore: the wiring of a mount. It owns the threads, the device, the store, the filesystem and the
// kernel connection, and brings them up and down in the right order.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/logger.h"
#include "engine/base/result.h"
#include "engine/device/uring_device.h"
#include "engine/ring/async_event.h"
#include "engine/store/store.h"
#include "fs/fuse/channel.h"
#include "fs/fuse/connection.h"
#include "fs/fuse/control_directory.h"
#include "fs/fuse/dev_fuse_transport.h"
#include "fs/fuse/mount_owner.h"
#include "fs/fuse/transport.h"
#include "fs/ops/filesystem.h"
#include "src/mount_options.h"
#include "src/scrubber.h"
#include "tools/reactor_thread.h"

namespace varve {

struct MountRequest {
  // Both absolute.
  std::string device;
  std::string directory;
  MountOptions options;
};

// Start, Flush, WaitUntilEnded and Finish: the thread that made it.
class MountedStore final : public MountOwner {
 public:
  // `clock` and `logger` must outlive it.
  MountedStore(MountRequest request, const Clock& clock, Logger& logger);
  ~MountedStore() override;

  // Ends when the mount answers. Before the kernel's INIT has come nothing is written to the device: until
  // then somebody else's mount of it may still win. After an error nothing is mounted.
  Status Start();
  // Becomes readable when the kernel has ended the connection.
  int ended_descriptor() const { return ended_descriptor_; }
  // Makes everything durable that was done before. Nothing to do once closing has begun: DESTROY may have
  // come at any time, and closing makes everything durable too.
  Status Flush();
  // After the connection has ended: closes the store, unless DESTROY has done that.
  Status Finish();

  Task<Status> Close() override;
  std::string StatisticsJson() const override;
  std::string source() const override { return request_.device; }
  std::string ScrubReport() const override { return EncodeScrubReport(scrubber_.report()); }
  std::string StartScrub() override;
  std::string StopScrub() override;

 private:
  struct Lane {
    std::unique_ptr<Transport> transport;
    std::unique_ptr<Channel> channel;
    // Ends first: what the kernel still sends finds the transport.
    std::unique_ptr<ReactorThread> thread;
  };

  Reactor& first() { return lanes_.front().thread->reactor(); }
  bool as_block_device() const { return as_block_device_; }
  Status ChooseTransport();
  Status KernelWantsNoUring(std::string why);
  Status StartThreads();
  Task<Status> OpenDevice();
  Task<Status> OpenStoreAndFiles();
  Task<Status> Attach();
  void MakeTransports(bool uring);
  Task<void> Serve(Lane& lane);
  Task<Status> FlushUnlessClosing();
  Task<Status> CloseOnce();

  ControlDirectory control_{*this};
  const MountRequest request_;
  const Clock& clock_;
  Logger& logger_;
  bool as_block_device_ = false;

  // Destroyed from the bottom up: threads last.
  std::vector<Lane> lanes_;
  // What each is pinned to; -1: nothing.
  std::vector<int> lane_cpus_;
  std::unique_ptr<ReactorThread> background_;
  std::unique_ptr<ClaimedDevice> device_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<FileSystem> filesystem_;
  std::unique_ptr<Connection> connection_;
  Scrubber scrubber_{clock_, logger_};
  // What is to be tried; what the kernel has agreed to, lanes_ know.
  bool tries_uring_ = false;
  // For the log, where `auto` ended with /dev/fuse.
  std::string why_no_uring_;
  DevFuseWaking waking_ = DevFuseWaking::kAll;

  std::atomic<size_t> serving_{0};
  int ended_descriptor_ = -1;
  // The first reactor's.
  bool closing_ = false;
  Status close_status_;
  AsyncEvent closed_;
  // Not set while a flush is under way.
  AsyncEvent flushed_{true};
};

}  // namespace varve
