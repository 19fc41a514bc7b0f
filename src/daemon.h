// The life of a mount daemon: from the request to the last unmount.
#pragma once

#include <functional>

#include "engine/base/logger.h"
#include "engine/base/result.h"
#include "src/mounted_store.h"

namespace varve {

// Mounts, serves until the filesystem has been unmounted, and makes everything durable. Takes over the
// signals of the process: SIGTERM, SIGINT and SIGHUP unmount; where that is refused because the filesystem is
// in use, the next one writes everything out and detaches it lazily. `tell` is called once, when the mount
// answers or has failed. Returns the process's exit code.
int RunDaemon(const MountRequest& request, Logger& logger, const std::function<void(const Status&)>& tell);

}  // namespace varve
