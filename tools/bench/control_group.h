// Control groups for the worker: a limit on its memory (page cache included), and on what the device does for
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/result.h"

namespace varve {

struct ControlLimits {
  uint64_t memory_bytes = 0;  // 0: no limit
  // Of the device numbered `device` ("7:0"). 0: no limit.
  std::string device;
  uint64_t device_read_bytes_per_second = 0;
  uint64_t device_written_bytes_per_second = 0;
  uint64_t device_reads_per_second = 0;
  uint64_t device_writes_per_second = 0;
};

// The groups are removed with this object; by then the processes in them must have ended.
class ControlGroup {
 public:
  // `root` is where the hierarchies are mounted: /sys/fs/cgroup; `name` is that of no other group. Knows
  // version 2 and version 1. A limit that this machine refuses is left out and named in problems().
  ControlGroup(std::string root, std::string name, const ControlLimits& limits);
  ~ControlGroup();
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  // Files into which the worker writes its process number.
  const std::vector<std::string>& procs_files() const { return procs_files_; }
  // Into which a limit on memory can be written later; empty when memory is not limited.
  const std::string& memory_limit_file() const { return memory_limit_file_; }
  // Sentences for the person who reads the figures; empty when all limits are in force.
  const std::vector<std::string>& problems() const { return problems_; }
  // The most memory, page cache included, that the group ever held; nullopt where it is not counted.
  std::optional<uint64_t> PeakMemoryBytes() const;

 private:
  void LimitMemory(const std::string& file, uint64_t bytes);
  void LimitVersion2(const ControlLimits& limits, bool limits_device);
  void LimitMemoryVersion1(const ControlLimits& limits);
  void LimitDeviceVersion1(const ControlLimits& limits);
  bool MakeGroup(const std::string& folder);

  std::string root_;
  std::string name_;
  std::vector<std::string> made_;
  // Files in which a limit was set on a group that stays, and what takes it back.
  std::vector<std::pair<std::string, std::string>> undo_;
  std::vector<std::string> procs_files_;
  std::vector<std::string> problems_;
  std::string memory_limit_file_;
  std::string peak_file_;
};

}  // namespace varve
