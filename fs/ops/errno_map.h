// The one place where a failure becomes an errno.
#pragma once

#include "engine/base/result.h"

namespace varve {

// A positive errno.
int ErrnoOf(ErrorCode code);

}  // namespace varve
