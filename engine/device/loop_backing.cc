#include "engine/device/loop_backing.h"

#include <fmt/core.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>

namespace varve {

namespace {

std::string FirstLine(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::string LoopDeviceOver(const struct stat& file) {
  std::error_code error;
  for (const auto& block : std::filesystem::directory_iterator("/sys/block", error)) {
    const std::string name = block.path().filename();
    if (!name.starts_with("loop")) {
      continue;
    }
    const std::string backing = FirstLine(block.path() / "loop/backing_file");
    struct stat found {};
    if (!backing.empty() && stat(backing.c_str(), &found) == 0 && found.st_dev == file.st_dev &&
        found.st_ino == file.st_ino) {
      return "/dev/" + name;
    }
  }
  return {};
}

std::string BackingFileOf(const struct stat& device) {
  return FirstLine(
      fmt::format("/sys/dev/block/{}:{}/loop/backing_file", major(device.st_rdev), minor(device.st_rdev)));
}

}  // namespace varve
