#include "engine/device/device_holder.h"

#include <fmt/core.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace varve {

namespace {

// The fifth and the fields behind " - " of a line of mountinfo (proc(5)): mount point, type, source.
std::string MountOf(const struct stat& device) {
  std::ifstream mounts("/proc/self/mountinfo");
  const std::string number = fmt::format("{}:{}", major(device.st_rdev), minor(device.st_rdev));
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string id;
    std::string parent;
    std::string mounted_number;
    std::string root;
    std::string where;
    fields >> id >> parent >> mounted_number >> root >> where;
    if (S_ISBLK(device.st_mode) && mounted_number == number) {
      return where;
    }
    const size_t separator = line.find(" - ");
    if (separator == std::string::npos) {
      continue;
    }
    std::istringstream rest(line.substr(separator + 3));
    std::string type;
    std::string source;
    rest >> type >> source;
    struct stat found {};
    if (source.starts_with('/') && stat(source.c_str(), &found) == 0 &&
        (S_ISBLK(device.st_mode) ? S_ISBLK(found.st_mode) && found.st_rdev == device.st_rdev
                                 : found.st_dev == device.st_dev && found.st_ino == device.st_ino)) {
      return where;
    }
  }
  return {};
}

bool IsSame(const struct stat& a, const struct stat& b) {
  if (S_ISBLK(a.st_mode)) {
    return S_ISBLK(b.st_mode) && a.st_rdev == b.st_rdev;
  }
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// /proc/PID/fdinfo/FD names the locks that the descriptor holds (proc(5)).
bool HoldsLock(const std::filesystem::path& process, const std::filesystem::path& descriptor) {
  std::ifstream information(process / "fdinfo" / descriptor);
  for (std::string line; std::getline(information, line);) {
    if (line.starts_with("lock:")) {
      return true;
    }
  }
  return false;
}

// Processes other than this one; 0 where none is found.
struct Openers {
  int locking = 0;
  int any = 0;
};

Openers FindOpeners(const struct stat& device) {
  Openers openers;
  std::error_code error;
  for (const auto& process : std::filesystem::directory_iterator("/proc", error)) {
    const int id = std::atoi(process.path().filename().c_str());
    if (id <= 0 || id == getpid()) {
      continue;
    }
    std::error_code forbidden;
    for (const auto& open_file : std::filesystem::directory_iterator(process.path() / "fd", forbidden)) {
      struct stat found {};
      if (stat(open_file.path().c_str(), &found) != 0 || !IsSame(device, found)) {
        continue;
      }
      openers.any = id;
      if (HoldsLock(process.path(), open_file.path().filename())) {
        openers.locking = id;
        return openers;
      }
    }
  }
  return openers;
}

}  // namespace

int LockHolderOf(const struct stat& device) {
  return FindOpeners(device).locking;
}

std::string DescribeHolder(const struct stat& device) {
  const Openers openers = FindOpeners(device);
  const int process = openers.locking != 0 ? openers.locking : openers.any;
  const std::string where = MountOf(device);
  std::string text;
  if (!where.empty()) {
    text = "mounted on " + where;
  }
  if (process != 0) {
    std::string command;
    std::ifstream name(fmt::format("/proc/{}/comm", process));
    std::getline(name, command);
    text += fmt::format("{}held by {} (process {})", text.empty() ? "" : ", ", command, process);
  }
  return text;
}

}  // namespace varve
