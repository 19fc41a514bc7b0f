#include "engine/compaction/flushed_standing.h"

namespace varve {

CacheStanding FlushedStanding::Of(std::string_view user_key) {
  const PointQuery query(user_key, kSequenceNumberMax);
  std::optional<bool> cached;
  tables_.Any(user_key, [&](const LiveTable& table) {
    cached = IsCachedIn(table, query);
    return cached.has_value();
  });
  return cached.value_or(true) ? CacheStanding::kProven : CacheStanding::kOnTrial;
}

std::optional<bool> FlushedStanding::IsCachedIn(const LiveTable& table, const PointQuery& query) const {
  TableLookupWalk walk(environment_, table.view(), table.directories(), LookupDepth::kBlock);
  if (!walk.Run(query)) {
    return false;  // where readers come, what leads there is cached
  }
  const Result<TableLookup> found = walk.TakeResult();
  if (!found.ok()) {
    return false;
  }
  if (found->kind == TableLookup::Kind::kAbsent) {
    return std::nullopt;
  }
  const BlockKey block = CacheKeyOf(table.id(), walk.data_block());
  return environment_.cache.StandingOf(block) != CacheStanding::kAbsent;
}

}  // namespace varve
