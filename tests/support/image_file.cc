#include "tests/support/image_file.h"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "engine/base/check.h"

namespace varve {

namespace {

// The command's first line of output; its exit status in `status`.
std::string FirstLineOf(const std::string& command, int& status) {
  std::string line;
  std::FILE* pipe = popen(command.c_str(), "r");
  Check(pipe != nullptr, "popen failed");
  std::array<char, 512> buffer{};
  if (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) {
    line = buffer.data();
  }
  status = pclose(pipe);
  if (!line.empty() && line.back() == '\n') {
    line.pop_back();
  }
  return line;
}

}  // namespace

ImageFile::ImageFile(uint64_t bytes) {
  const char* directory = std::getenv("TMPDIR");
  path_ = fmt::format("{}/varve-test-XXXXXX", directory != nullptr ? directory : "/tmp");
  const int fd = mkstemp(path_.data());
  Check(fd >= 0, "no image file can be made in the directory for temporary files");
  Check(ftruncate(fd, static_cast<off_t>(bytes)) == 0, "an image file cannot be given its size");
  close(fd);
}

ImageFile::~ImageFile() {
  unlink(path_.c_str());
}

std::unique_ptr<ImageLoopDevice> ImageLoopDevice::Create(uint64_t bytes, uint32_t sector_bytes,
                                                         std::string& why_not) {
  if (geteuid() != 0) {
    why_not = "only root can make loop devices";
    return nullptr;
  }
  std::unique_ptr<ImageLoopDevice> device(new ImageLoopDevice(bytes));
  int status = 0;
  std::string line = FirstLineOf(fmt::format("losetup --find --show --direct-io=on --sector-size {} {} 2>&1",
                                             sector_bytes, device->image_.path()),
                                 status);
  if (status != 0) {
    why_not = "losetup: " + line;
    return nullptr;
  }
  device->path_ = std::move(line);
  return device;
}

ImageLoopDevice::~ImageLoopDevice() {
  if (!path_.empty()) {
    int status = 0;
    FirstLineOf("losetup --detach " + path_ + " 2>&1", status);
  }
}

}  // namespace varve
