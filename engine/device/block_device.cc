#include "engine/device/block_device.h"

#include <fmt/core.h>

namespace varve {

std::string_view IoPurposeName(IoPurpose purpose) {
  switch (purpose) {
    case IoPurpose::kSuperblock:
      return "superblock";
    case IoPurpose::kManifest:
      return "manifest";
    case IoPurpose::kWal:
      return "wal";
    case IoPurpose::kFlush:
      return "flush";
    case IoPurpose::kCompaction:
      return "compaction";
    case IoPurpose::kUserRead:
      return "user-read";
    case IoPurpose::kRecovery:
      return "recovery";
    case IoPurpose::kCheck:
      return "check";
  }
  return "unknown";
}

}  // namespace varve
