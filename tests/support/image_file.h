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

class ImageLoopDevice {
 public:
  // nullptr, with the reason, where loop devices cannot be made (no root, no /dev/loop-control, no losetup).
  static std::unique_ptr<ImageLoopDevice> Create(uint64_t bytes, uint32_t sector_bytes, std::string& why_not);
  ImageLoopDevice(const ImageLoopDevice&) = delete;
  ImageLoopDevice& operator=(const ImageLoopDevice&) = delete;
  ~ImageLoopDevice();

  const std::string& path() const { return path_; }
  const std::string& image_path() const { return image_.path(); }

 private:
  explicit ImageLoopDevice(uint64_t bytes) : image_(bytes) {}

  ImageFile image_;
  std::string path_;
};

}  // namespace varve
