#include "engine/compaction/older_data.h"

#include <algorithm>

#include "engine/table/block_reader.h"

namespace varve {

bool OlderData::IsExcepted(const LiveTable& table) const {
  return std::binary_search(except_.begin(), except_.end(), table.id());
}

template <typename Visit>
bool OlderData::AnyTable(std::string_view user_key, Visit visit) {
  if (tables_.Any(user_key, [&](const LiveTable& table) { return !IsExcepted(table) && visit(table); })) {
    return true;
  }
  return std::any_of(beside_.begin(), beside_.end(), [&](const LiveTable* table) {
    return table->range().Contains(user_key) && visit(*table);
  });
}

bool OlderData::MayHold(std::string_view user_key) {
  return AnyTable(user_key, [](const LiveTable&) { return true; });
}

Task<bool> OlderData::MayHoldByTables(std::string_view user_key) {
  std::vector<const LiveTable*> tables;
  AnyTable(user_key, [&](const LiveTable& table) {
    tables.push_back(&table);
    return false;
  });
  const PointQuery query(user_key, kSequenceNumberMax);
  for (const LiveTable* table : tables) {
    const bool may_be = co_await MayBeIn(*table, query);
    if (may_be) {
      co_return true;
    }
  }
  co_return false;
}

Task<bool> OlderData::MayBeIn(const LiveTable& table, const PointQuery& query) {
  TableLookupWalk walk(*environment_, table.view(), table.directories(), LookupDepth::kBlock);
  while (!walk.Run(query)) {
    BlockRef block = co_await Read(table, walk);
    if (!block) {
      co_return true;
    }
    walk.Provide(std::move(block));
  }
  const Result<TableLookup> found = walk.TakeResult();
  co_return !found.ok() || found->kind != TableLookup::Kind::kAbsent;
}

Task<BlockRef> OlderData::Read(const LiveTable& table, const TableLookupWalk& walk) {
  const BlockHandle handle = walk.wanted();
  const std::pair<TableId, uint64_t> key{table.id(), handle.table_offset};
  if (const auto known = read_.find(key); known != read_.end()) {
    co_return known->second;
  }
  // A key that its filter knows is there in all but one of a hundred cases.
  if (walk.filter_passed() || handle.bytes > read_bytes_left_) {
    co_return BlockRef();
  }
  read_bytes_left_ -= handle.bytes;
  Result<BlockRef> block = co_await ReadBlock(*environment_, table.view(), handle, walk.wanted_kind(),
                                              IoPurpose::kCompaction, false);
  if (!block.ok()) {
    co_return BlockRef();
  }
  read_.emplace(key, *block);
  co_return std::move(block).value();
}

}  // namespace varve
