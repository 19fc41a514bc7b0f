#include "fs/fuse/queue_shares.h"

#include <algorithm>

namespace varve {

QueueShares::QueueShares(size_t reactors)
    : reactors_(reactors),
      places_(std::min(reactors, 1 + kHelpersMax)),
      shares_(std::make_unique<Share[]>(reactors * places_)) {
}

}  // namespace varve
