// What a live mount adds to the store's statistics.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fs/fuse/channel.h"
#include "fs/ops/filesystem.h"

namespace varve {

// `store_json`, an object, with the members "filesystem" and "fuse" added.
std::string MountStatisticsJson(std::string_view store_json, const FileSystemStatistics& filesystem,
                                std::string_view transport,
                                const std::vector<const ChannelStatistics*>& channels);

}  // namespace varve
