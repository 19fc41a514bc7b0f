// OlderData: whether anything that is read after the output of a merge may hold an older version of a key: a
// tombstone of which nothing does is not written (Delete-aware LSM, section 3.1.2). First by the key ranges
// of tables, which are in memory; where these do not tell, by the tables' filters and the two keys of each
// block.
//
// Used by one coroutine. Keys are asked in ascending order.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/units.h"
#include "engine/cache/block_ref.h"
#include "engine/compaction/deeper_tables.h"
#include "engine/ring/task.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_lookup.h"
#include "engine/version/version.h"

namespace varve {

class OlderData {
 public:
  // What is read after Tree `level`: Log_level and every deeper Tree and Log. Tables in `except` (the merge's
  // own inputs) do not count; they must be sorted by id.
  OlderData(std::shared_ptr<const Version> version, uint32_t level, std::vector<TableId> except)
      : tables_(std::move(version), level), except_(std::move(except)) {}
  // A table that is read after the output beside those: its whole content counts. It must outlive this.
  void AddTable(const LiveTable& table) { beside_.push_back(&table); }
  // From now on MayHoldByTables may be asked. Until so many bytes were read for it, pages of filters are read
  // from the device; what a filter does not exclude only what is cached may exclude.
  void AskTables(const TableEnvironment& environment, uint64_t read_bytes_max) {
    environment_ = &environment;
    read_bytes_left_ = read_bytes_max;
  }
  bool asks_tables() const { return environment_ != nullptr; }

  // By the ranges of tables.
  bool MayHold(std::string_view user_key);
  // By what the tables themselves say, for the key that MayHold was asked last: false only where each is
  // sure. A table that cannot be read may hold it. `user_key` must outlive the Task.
  Task<bool> MayHoldByTables(std::string_view user_key);

 private:
  bool IsExcepted(const LiveTable& table) const;
  // Calls `visit` for each table whose range holds the key, until it answers true; whether it did.
  template <typename Visit>
  bool AnyTable(std::string_view user_key, Visit visit);
  Task<bool> MayBeIn(const LiveTable& table, const PointQuery& query);
  // Empty: it is not worth its reading, or cannot be read.
  Task<BlockRef> Read(const LiveTable& table, const TableLookupWalk& walk);

  DeeperTables tables_;
  std::vector<TableId> except_;
  std::vector<const LiveTable*> beside_;

  const TableEnvironment* environment_ = nullptr;
  uint64_t read_bytes_left_ = 0;
  // What was read, by table and offset: the next key may need the same.
  std::map<std::pair<TableId, uint64_t>, BlockRef> read_;
};

}  // namespace varve
