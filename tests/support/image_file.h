// Devices for tests that need the kernel: image files and loop devices over them, gone when the test ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace varve {

class ImageFile {
 public:
  // A sparse file in the directory for temporary files.
  explicit ImageFile(uint64_t bytes);
  ImageFile(const ImageFile&) = delete;
  ImageFile& operator=(const ImageFile&) = delete;
  ~ImageFile();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class LoopDevice {
 public:
  // nullptr, with the reason, where loop devices cannot be made (no root, no /dev/loop-control, no losetup).
  static std::unique_ptr<LoopDevice> Create(uint64_t bytes, uint32_t sector_bytes, std::string& why_not);
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;
  ~LoopDevice();

  const std::string& path() const { return path_; }
  const std::string& image_path() const { return image_.path(); }

 private:
  explicit LoopDevice(uint64_t bytes) : image_(bytes) {}

  ImageFile image_;
  std::string path_;
};

}  // namespace varve
