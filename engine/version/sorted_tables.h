// SortedTables: the tables of one Tree, disjoint in user keys and sorted by them. A value that shares what
// did not change: it is a list of chunks of at most kChunkTablesMax tables, and an edit copies the chunks
// that it touches and the list of chunks, not the tables of the level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/base/key_fences.h"
#include "engine/base/key_range.h"
#include "engine/base/result.h"
#include "engine/version/live_table.h"

namespace varve {

// What a set of tables adds up to. Valid bytes are what live index entries point at (an estimate where a
// table has several segments: a newer segment may shadow entries of an older one); total bytes are what the
// tables' extents hold.
struct TableTotals {
  uint64_t tables = 0;
  uint64_t valid_bytes = 0;
  uint64_t total_bytes = 0;
  uint64_t entries = 0;
  uint64_t tombstones = 0;
  // Of the table whose entries are tombstones to the largest share: that share.
  double densest_tombstones = 0;
  // Keys that the filters of its segments have room for, and what the filters take.
  uint64_t filter_capacity = 0;
  double filter_bits = 0;

  void Add(const LiveTable& table);
  void Add(const TableTotals& other);
};

// Names a table that an edit takes away. `smallest_key` is where to look for it in a Tree; elsewhere it is
// not used.
struct TableName {
  TableId id;
  Generation generation;
  std::string smallest_key;

  bool operator==(const TableName&) const = default;
};

class SortedTables {
 public:
  static constexpr size_t kChunkTablesMax = 128;
  // Neighbours that together hold no more than this are joined.
  static constexpr size_t kChunkTablesJoin = kChunkTablesMax / 2;

  // A place in the order. Valid as long as the SortedTables that it comes from.
  class Cursor {
   public:
    bool Valid() const { return chunk_ < tables_->chunks_.size(); }
    // Precondition of the next two: Valid().
    const std::shared_ptr<const LiveTable>& shared() const {
      return tables_->chunks_[chunk_]->tables[position_];
    }
    const LiveTable& operator*() const { return *shared(); }
    const LiveTable* operator->() const { return shared().get(); }
    // Next of the last and Prev of the first are not Valid().
    void Next();
    void Prev();

   private:
    friend class SortedTables;
    Cursor(const SortedTables* tables, size_t chunk, size_t position)
        : tables_(tables), chunk_(chunk), position_(position) {}

    const SortedTables* tables_;
    size_t chunk_;
    size_t position_;
  };

  bool empty() const { return chunks_.empty(); }
  size_t size() const { return totals_.tables; }
  const TableTotals& totals() const { return totals_; }

  Cursor First() const { return {this, 0, 0}; }
  Cursor Last() const;
  // To the first table whose largest key is at or after `user_key`: the only one that may hold it.
  Cursor Seek(std::string_view user_key) const;
  // The table whose range contains `user_key`, or nullptr. The hit path of a lookup. In two steps for those
  // who search several at once, so that these wait for memory together: FindIn(ChunkOf(key), key).
  const LiveTable* Find(std::string_view user_key) const { return FindIn(ChunkOf(user_key), user_key); }
  // The chunk that holds the first table whose largest key is at or after `user_key`.
  size_t ChunkOf(std::string_view user_key) const;
  const LiveTable* FindIn(size_t chunk, std::string_view user_key) const;
  // In key order.
  std::vector<std::shared_ptr<const LiveTable>> Overlapping(const KeyRangeView& range) const;
  bool AnyOverlaps(const KeyRangeView& range) const;

  // This without `removed` and with `added` (any order). kCorruption, naming the table, when a removed one is
  // not here or an added one overlaps another.
  Result<SortedTables> Edited(const std::vector<TableName>& removed,
                              std::vector<std::shared_ptr<const LiveTable>> added) const;

 private:
  struct Chunk {
    std::vector<std::shared_ptr<const LiveTable>> tables;  // not empty
    // Of each table its smallest key and its largest.
    KeyFences borders;
    TableTotals totals;

    // The first border that is not before `user_key`, which has `near` for its neighbours.
    size_t BorderAt(std::string_view user_key, KeyFences::Range near) const;
  };
  using ChunkList = std::vector<std::shared_ptr<const Chunk>>;
  class Builder;

  static std::shared_ptr<const Chunk> MakeChunk(std::vector<std::shared_ptr<const LiveTable>> tables);

  ChunkList chunks_;
  // Of each chunk's last table.
  KeyFences largest_keys_;
  TableTotals totals_;
};

}  // namespace varve
