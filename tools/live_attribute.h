// Asking the daemon that serves a mounted store (fs/fuse/live_attributes.h).
#pragma once

#include <string>
#include <string_view>

#include "engine/base/result.h"

namespace varve {

// What the daemon answers that serves `directory`. `advice` ends the message for a directory where no store
// is mounted. Blocks. Errors: kInvalidArgument (no such mount, or not this user's), kDeviceError.
Result<std::string> ReadLiveAttribute(const std::string& directory, std::string_view attribute,
                                      std::string_view advice);

}  // namespace varve
