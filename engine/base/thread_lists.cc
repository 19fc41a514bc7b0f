#include "engine/base/thread_lists.h"

namespace varve {

const bool kKeepsFreedMemory = VARVE_KEEPS_FREED_MEMORY;

}  // namespace varve
