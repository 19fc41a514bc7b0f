// Which tables wait in the SST-Logs, and which go down from there (L2SM, sections III-D and III-E). Pure
// functions: the picker of the Trees makes plans of what they say.
//
// Where a level's Tree is full, its tables are not merged into the level below one by one: they are moved
// into the level's Log (pseudo compaction: an edit and nothing else), until enough have gathered there over
// the same tables below. Then these are merged with all of them at once (aggregated compaction). What is
// written for a byte that goes down falls with the number of tables that go together, and records that were
// overwritten in the meantime are not written at all.
//
// docs/design/sst-log.md says what differs from the paper, and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/key_range.h"
#include "engine/sst_log/log_groups.h"
#include "engine/version/busy_set.h"
#include "engine/version/version.h"

namespace varve {

struct LogConfig {
  // What Logs may hold of the bytes in Trees (L2SM, section III-B: 10%). 0: there are none.
  double share = 0;
  uint64_t table_bytes = 64 * kMiB;
};

// More tables of a Log than this over one key are not left there.
inline constexpr size_t kLogDepthMax = 8;
// Tables come into a Log up to this score: while some are on their way down, others may come.
inline constexpr double kLogScoreMax = 1.5;

// Whether the level has a Log: where the level below holds at least as much as it does. Over a smaller one a
// merge rewrites little, so there is nothing to share; and a Tree that is emptied into it, as pseudo
// compaction does, would leave two levels of like size, each full of what the other has newer versions of.
bool HasLog(const Version& version, uint32_t level);
// What the Log of `level` may hold: the share of what all Trees hold, in equal parts for the levels that have
// one. 0 for the others, and for all where the part is smaller than two tables.
uint64_t LogCapacityBytes(const Version& version, const LogConfig& config, uint32_t level);

// At least 1 when tables have to leave the Log: it holds too many bytes, or too many tables over one key.
// `leaving_bytes`, which running jobs take away, do not count.
double LogScore(const Version& version, const LogConfig& config, uint32_t level, uint64_t leaving_bytes);

// Tables of Tree_level that no job holds and that are to wait in its Log: as many as `bytes` have room for,
// and at least one where that is not 0. First come those whose own merge would cost the most, by powers of
// two of what it would rewrite for each of their bytes; among equals the hottest and sparsest (L2SM's
// combined weight).
std::vector<std::shared_ptr<const LiveTable>> TablesForLog(const Version& version, const BusySet& busy,
                                                           uint32_t level, uint64_t bytes);

// Tables of a Log that may go down together, oldest first.
using LogTables = std::vector<std::shared_ptr<const LiveTable>>;

// The groups of the Log that go down at the least cost, the best first: each table with all that is older and
// overlaps it, transitively, and with others where that makes it cheaper.
std::vector<LogTables> GroupsToMerge(const Version& version, const LogConfig& config, const BusySet& busy,
                                     uint32_t level);

// The smallest steps that take down what the Log holds in `range`: each table there with what is older and
// overlaps it, the oldest first.
std::vector<LogTables> GroupsIn(const Version& version, const BusySet& busy, uint32_t level,
                                const KeyRangeView& range);

// The groups for whose tables readers have paid what their merge writes (LiveTable::paid_bytes).
std::vector<LogTables> GroupsPaidFor(const Version& version, const BusySet& busy, uint32_t level);

// What is to hold of the Logs of a store in which nothing is due, each violation in words: they hold no more
// than `share` of what the Trees hold, no key lies in more than kLogDepthMax tables of one Log, and levels
// over a smaller one have none. (That the format's last level has none holds at any time: CheckVersion.)
std::vector<std::string> CheckSettledLogs(const Version& version, double share);

}  // namespace varve
