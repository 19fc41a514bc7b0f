// Lookups in one table, as tests ask for them.
#pragma once

#include <optional>
#include <utility>

#include "engine/ring/task.h"
#include "engine/table/table_lookup.h"

namespace varve {

// nullopt: a block is not in the cache.
inline std::optional<Result<TableLookup>> TryGetFromTable(const TableEnvironment& environment,
                                                          const TableView& view, const PointQuery& query) {
  SegmentDirectories directories(view.segments.size());
  TableLookupWalk walk(environment, view, directories);
  if (!walk.Run(query)) {
    return std::nullopt;
  }
  return walk.TakeResult();
}

inline Task<Result<TableLookup>> GetFromTable(const TableEnvironment& environment, const TableView& view,
                                              PointQuery query, bool fill_cache,
                                              SegmentDirectories& directories) {
  TableLookupWalk walk(environment, view, directories);
  while (!walk.Run(query)) {
    Result<BlockRef> block = co_await walk.ReadWanted(fill_cache ? CacheFill::kAll : CacheFill::kNothing);
    if (!block.ok()) {
      co_return block.error();
    }
    walk.Provide(std::move(block).value());
  }
  co_return walk.TakeResult();
}

// As the first lookup in the table does it: nothing is known of its segments.
inline Task<Result<TableLookup>> GetFromTable(const TableEnvironment& environment, const TableView& view,
                                              PointQuery query, bool fill_cache) {
  SegmentDirectories directories(view.segments.size());
  co_return co_await GetFromTable(environment, view, query, fill_cache, directories);
}

}  // namespace varve
