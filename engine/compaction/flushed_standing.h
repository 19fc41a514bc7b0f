// FlushedStanding: how what a flush writes is to stand in the cache, by what it replaces. Where readers have
// the older version of a key at hand they will come for the new one, and would have to read it; where they
// have not, most never will, and a load of scattered writes would push out what they do read.
//
// Used by one coroutine. Keys are asked in ascending order.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/cache/cache_standing.h"
#include "engine/compaction/deeper_tables.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_lookup.h"
#include "engine/version/version.h"

namespace varve {

class FlushedStanding {
 public:
  // `environment` must outlive it.
  FlushedStanding(const TableEnvironment& environment, std::shared_ptr<const Version> version)
      : environment_(environment), tables_(std::move(version), 0) {}

  // Proven where a block of the newest table below level 0 that holds the key is cached, or no table there
  // does: nobody can have read what is new. Else on trial. Goes by what is cached of filters and indexes;
  // reads nothing. Level 0 is not asked: its tables are many, and gone in a moment.
  CacheStanding Of(std::string_view user_key);

 private:
  // nullopt: the table does not hold the key.
  std::optional<bool> IsCachedIn(const LiveTable& table, const PointQuery& query) const;

  const TableEnvironment& environment_;
  DeeperTables tables_;
};

}  // namespace varve
