// What a live mount adds to the store's statistics.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/histogram.h"
#include "fs/fuse/channel.h"
#include "fs/fuse/transport.h"
#include "fs/ops/filesystem.h"

namespace varve {

// How long the turns of reactors last (Reactor::turns).
struct ReactorTurns {
  std::vector<const Histogram*> of_requests;
  const Histogram* of_background = nullptr;  // of flushes and merges
};

// `store_json`, an object, with the members "filesystem", "fuse" and "turn_nanos" added. `transports`: at
// least one.
std::string MountStatisticsJson(std::string_view store_json, const FileSystemStatistics& filesystem,
                                const std::vector<const Transport*>& transports,
                                const std::vector<const ChannelStatistics*>& channels,
                                const ReactorTurns& turns);

}  // namespace varve
