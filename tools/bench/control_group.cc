#include "tools/bench/control_group.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

namespace varve {

namespace {

constexpr int kRemovalAttempts = 100;
constexpr auto kRemovalPause = std::chrono::milliseconds(10);

bool Exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

bool WriteTo(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

// Version 1's throttles, in the root group: what the page cache writes later is nobody else's there.
struct Version1Throttle {
  const char* file;
  uint64_t ControlLimits::*limit;
};
constexpr Version1Throttle kVersion1Throttles[] = {
    {"blkio.throttle.read_bps_device", &ControlLimits::device_read_bytes_per_second},
    {"blkio.throttle.write_bps_device", &ControlLimits::device_written_bytes_per_second},
    {"blkio.throttle.read_iops_device", &ControlLimits::device_reads_per_second},
    {"blkio.throttle.write_iops_device", &ControlLimits::device_writes_per_second},
};

}  // namespace

ControlGroup::ControlGroup(std::string root, std::string name, const ControlLimits& limits)
    : root_(std::move(root)), name_(std::move(name)) {
  const bool limits_device = limits.device_read_bytes_per_second != 0 ||
                             limits.device_written_bytes_per_second != 0 ||
                             limits.device_reads_per_second != 0 || limits.device_writes_per_second != 0;
  if (limits.memory_bytes == 0 && !limits_device) {
    return;
  }
  if (Exists(root_ + "/cgroup.controllers")) {
    LimitVersion2(limits, limits_device);
    return;
  }
  if (limits.memory_bytes != 0) {
    LimitMemoryVersion1(limits);
  }
  if (limits_device) {
    LimitDeviceVersion1(limits);
  }
}

ControlGroup::~ControlGroup() {
  for (const auto& [file, text] : undo_) {
    WriteTo(file, text);
  }
  for (const std::string& folder : made_) {
    // A group is busy for a moment after its last process has been waited for.
    for (int attempt = 0; attempt < kRemovalAttempts && rmdir(folder.c_str()) != 0 && errno == EBUSY;
         ++attempt) {
      std::this_thread::sleep_for(kRemovalPause);
    }
  }
}

bool ControlGroup::MakeGroup(const std::string& folder) {
  if (mkdir(folder.c_str(), 0755) != 0) {
    problems_.push_back(
        fmt::format("no limits: cannot make the control group {}: {}", folder, std::strerror(errno)));
    return false;
  }
  made_.push_back(folder);
  procs_files_.push_back(folder + "/cgroup.procs");
  return true;
}

void ControlGroup::LimitMemory(const std::string& file, uint64_t bytes) {
  if (WriteTo(file, std::to_string(bytes))) {
    memory_limit_file_ = file;
  } else {
    problems_.push_back(fmt::format("memory is not limited: this machine does not let {} be set",
                                    file.substr(file.rfind('/') + 1)));
  }
}

void ControlGroup::LimitVersion2(const ControlLimits& limits, bool limits_device) {
  // Enabling one that is enabled already changes nothing, and they stay enabled.
  WriteTo(root_ + "/cgroup.subtree_control", "+memory");
  WriteTo(root_ + "/cgroup.subtree_control", "+io");
  const std::string folder = fmt::format("{}/{}", root_, name_);
  if (!MakeGroup(folder)) {
    return;
  }
  if (limits.memory_bytes != 0) {
    LimitMemory(folder + "/memory.max", limits.memory_bytes);
    WriteTo(folder + "/memory.swap.max", "0");
    peak_file_ = folder + "/memory.peak";
  }
  const auto of = [](uint64_t limit) { return limit == 0 ? std::string("max") : std::to_string(limit); };
  if (limits_device &&
      !WriteTo(
          folder + "/io.max",
          fmt::format("{} rbps={} wbps={} riops={} wiops={}", limits.device,
                      of(limits.device_read_bytes_per_second), of(limits.device_written_bytes_per_second),
                      of(limits.device_reads_per_second), of(limits.device_writes_per_second)))) {
    problems_.emplace_back("the device is not throttled: this machine does not let io.max be set");
  }
}

void ControlGroup::LimitMemoryVersion1(const ControlLimits& limits) {
  const std::string folder = fmt::format("{}/memory/{}", root_, name_);
  if (!Exists(root_ + "/memory/memory.limit_in_bytes")) {
    problems_.emplace_back("memory is not limited: no memory control group here");
    return;
  }
  if (!MakeGroup(folder)) {
    return;
  }
  LimitMemory(folder + "/memory.limit_in_bytes", limits.memory_bytes);
  peak_file_ = folder + "/memory.max_usage_in_bytes";
}

void ControlGroup::LimitDeviceVersion1(const ControlLimits& limits) {
  const std::string folder = root_ + "/blkio";
  // The worker must be in the root group too, whatever group its parent is in.
  procs_files_.push_back(folder + "/cgroup.procs");
  for (const Version1Throttle& throttle : kVersion1Throttles) {
    const uint64_t limit = limits.*throttle.limit;
    if (limit == 0) {
      continue;
    }
    const std::string file = fmt::format("{}/{}", folder, throttle.file);
    if (!WriteTo(file, fmt::format("{} {}", limits.device, limit))) {
      problems_.push_back(fmt::format("the device is not throttled: cannot set {}", file));
      procs_files_.pop_back();
      return;
    }
    undo_.emplace_back(file, fmt::format("{} 0", limits.device));
  }
}

std::optional<uint64_t> ControlGroup::PeakMemoryBytes() const {
  std::ifstream file(peak_file_);
  uint64_t bytes = 0;
  if (peak_file_.empty() || !(file >> bytes)) {
    return std::nullopt;
  }
  return bytes;
}

}  // namespace varve
