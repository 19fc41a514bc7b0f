// How a program talks to a mounted store: extended attributes of the mount's root directory that exist only
// while it is mounted and are answered by the daemon. For root and the user who mounted; never
// listed, so that copies do not carry them along.
#pragma once

#include <string_view>

namespace varve {

inline constexpr std::string_view kLiveAttributePrefix = "user.varve.";
// A JSON object: what Store::StatisticsJson says, with the members "filesystem" and "fuse" beside it.
inline constexpr std::string_view kStatisticsAttribute = "user.varve.statistics";
// The daemon's process id in decimal, as the daemon sees it.
inline constexpr std::string_view kProcessAttribute = "user.varve.process";
// How the scrub that runs goes, or how the last one went: lines (tools/scrub_report.h). To read one of the
// other two is a command, and gives the report after it: attributes of a read-only mount cannot be written,
// and a scrub is wanted there as well. To start what runs, and to stop what does not, changes nothing.
inline constexpr std::string_view kScrubReportAttribute = "user.varve.scrub";
inline constexpr std::string_view kScrubStartAttribute = "user.varve.scrub.start";
inline constexpr std::string_view kScrubStopAttribute = "user.varve.scrub.stop";
// The device or image file that is mounted.
inline constexpr std::string_view kSourceAttribute = "user.varve.source";

}  // namespace varve
