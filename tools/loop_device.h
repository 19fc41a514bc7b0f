// A loop device over a file, attached as long as this object lives: also when the process is killed, since
// the kernel detaches it when its last user has gone.
#pragma once

#include <string>
#include <utility>

#include "engine/base/result.h"

namespace varve {

class LoopDevice {
 public:
  // Attaches `file` with direct I/O to its filesystem. Needs root. Errors: kUnsupported (no loop devices
  // here), kDeviceError.
  static Result<LoopDevice> Attach(const std::string& file);
  // The same with a file that is open for reading and writing; without direct I/O where its filesystem has
  // none. `name` is for messages.
  static Result<LoopDevice> Attach(int file, const std::string& name);

  LoopDevice(LoopDevice&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}
  LoopDevice& operator=(LoopDevice&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~LoopDevice();

  const std::string& path() const { return path_; }
  // Open for reading and writing.
  int descriptor() const { return descriptor_; }

 private:
  LoopDevice(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  int descriptor_;
  std::string path_;
};

}  // namespace varve
