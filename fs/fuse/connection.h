// Connection: a mounted filesystem's descriptor of /dev/fuse. Mounting is libfuse's; requests are read by
// transports and decoded by channels.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/logger.h"
#include "engine/base/result.h"

struct fuse_session;

namespace varve {

struct MountSpecification {
  // What /proc/mounts names as the source: the absolute path of the device or image file.
  std::string source;
  std::string directory;
  // Mounts as fuseblk: the kernel claims the device, umount waits for the daemon, and sync reaches it. For
  // root and block devices only; the daemon must not hold the device with O_EXCL.
  bool block_device = false;
  // As in mount(8): "ro", "nosuid", "allow_other", …
  std::vector<std::string> options;
};

class Connection {
 public:
  // Mounts. The kernel waits with every request until INIT is answered. Errors: kDeviceError with what
  // libfuse said, and the next step.
  static Result<std::unique_ptr<Connection>> Mount(MountSpecification specification);
  // Unmounts (detaching lazily) unless the kernel has ended the connection already.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Nonblocking. Closed by Unmount and the destructor.
  int descriptor() const { return descriptor_; }
  const MountSpecification& specification() const { return specification_; }
  void Unmount();

 private:
  Connection() = default;

  MountSpecification specification_;
  fuse_session* session_ = nullptr;
  int descriptor_ = -1;
};

// Raises the read-ahead of the filesystem mounted at `directory`: the kernel's 128 KiB would make eight
// requests of what one can carry. Root only; best effort.
Status RaiseReadAhead(const std::string& directory, uint32_t kibibytes);

}  // namespace varve
