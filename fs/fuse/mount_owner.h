// What the fuse room asks of whoever wired it: the parts of a mounted store that are no file operation.
#pragma once

#include <string>

#include "engine/base/result.h"
#include "engine/ring/task.h"

namespace varve {

class MountOwner {
 public:
  virtual ~MountOwner() = default;

  // The kernel has let go of the filesystem: quiesces every channel, makes everything durable and closes the
  // store and the device. Idempotent; may be called from any reactor.
  virtual Task<Status> Close() = 0;

  // The answers of live_attributes.h. Any reactor; nullopt-like empty answers do not occur.
  virtual std::string StatisticsJson() const = 0;
  virtual std::string source() const = 0;
  virtual std::string ScrubReport() const = 0;
  virtual std::string StartScrub() = 0;
  virtual std::string StopScrub() = 0;
};

}  // namespace varve
