// Merges ordered sources into one: the order in which a store is read, and what a compaction reads.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engine/table/internal_iterator.h"

namespace varve {

// Yields the union of the children in internal-key order, forward and backward. On a Seek and on a change of
// direction, all children that need the device are loaded concurrently. The first error of any child ends the
// walk. No children: never Valid(). One child: returned as it is. A walk need not show what lies at or behind
// the user key `upper` (empty: all is wanted): children that stand there after a Seek are not asked.
std::unique_ptr<InternalIterator> NewMergingIterator(std::vector<std::unique_ptr<InternalIterator>> children,
                                                     std::string_view upper = {});

}  // namespace varve
