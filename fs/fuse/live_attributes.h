// How a program talks to a mounted store: extended attributes of the mount's root directory that exist only
// while it is mounted and are answered by the daemon. Readable by root and by the user who mounted; never
// listed, so that copies do not carry them along.
#pragma once

#include <string_view>

namespace varve {

inline constexpr std::string_view kLiveAttributePrefix = "user.varve.";
// A JSON object: what Store::StatisticsJson says, with the members "filesystem" and "fuse" beside it.
inline constexpr std::string_view kStatisticsAttribute = "user.varve.statistics";
// The daemon's process id in decimal, as the daemon sees it.
inline constexpr std::string_view kProcessAttribute = "user.varve.process";
// The device or image file that is mounted.
inline constexpr std::string_view kSourceAttribute = "user.varve.source";

}  // namespace varve
