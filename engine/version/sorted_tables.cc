#include "engine/version/sorted_tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace varve {

void TableTotals::Add(const LiveTable& table) {
  tables += 1;
  valid_bytes += table.valid_bytes();
  total_bytes += table.total_bytes();
  entries += table.entries();
  tombstones += table.tombstones();
  densest_tombstones = std::max(densest_tombstones, table.tombstone_share());
  filter_capacity += table.filter_capacity();
  filter_bits += table.filter_bits();
}

void TableTotals::Add(const TableTotals& other) {
  tables += other.tables;
  valid_bytes += other.valid_bytes;
  total_bytes += other.total_bytes;
  entries += other.entries;
  tombstones += other.tombstones;
  densest_tombstones = std::max(densest_tombstones, other.densest_tombstones);
  filter_capacity += other.filter_capacity;
  filter_bits += other.filter_bits;
}

void SortedTables::Cursor::Next() {
  if (++position_ == tables_->chunks_[chunk_]->tables.size()) {
    position_ = 0;
    ++chunk_;
  }
}

void SortedTables::Cursor::Prev() {
  if (position_ > 0) {
    --position_;
    return;
  }
  if (chunk_ == 0) {
    chunk_ = tables_->chunks_.size();
    return;
  }
  --chunk_;
  position_ = tables_->chunks_[chunk_]->tables.size() - 1;
}

SortedTables::Cursor SortedTables::Last() const {
  if (chunks_.empty()) {
    return First();
  }
  return {this, chunks_.size() - 1, chunks_.back()->tables.size() - 1};
}

size_t SortedTables::ChunkOf(std::string_view user_key) const {
  return largest_keys_.LowerBound(
      user_key, [&](size_t i) { return chunks_[i]->tables.back()->largest_key() < user_key; });
}

SortedTables::Cursor SortedTables::Seek(std::string_view user_key) const {
  const size_t at = ChunkOf(user_key);
  if (at == chunks_.size()) {
    return {this, at, 0};
  }
  const Chunk& chunk = *chunks_[at];
  return {this, at, chunk.BorderAt(user_key, chunk.borders.Near(user_key)) / 2};
}

const LiveTable* SortedTables::FindIn(size_t at, std::string_view user_key) const {
  if (at == chunks_.size()) {
    return nullptr;
  }
  const Chunk& chunk = *chunks_[at];
  const KeyFences::Range near = chunk.borders.Near(user_key);
  const size_t border = chunk.BorderAt(user_key, near);
  const LiveTable* const table = chunk.tables[border / 2].get();
  // Within a range, or at its beginning: most often none of its keys has to be looked at.
  const bool holds = border % 2 == 1 || (border < near.end && table->smallest_key() == user_key);
  return holds ? table : nullptr;
}

size_t SortedTables::Chunk::BorderAt(std::string_view user_key, KeyFences::Range near) const {
  return KeyFences::LowerBoundWithin(near, [&](size_t i) {
    const LiveTable& table = *tables[i / 2];
    return (i % 2 == 0 ? table.smallest_key() : table.largest_key()) < user_key;
  });
}

std::vector<std::shared_ptr<const LiveTable>> SortedTables::Overlapping(const KeyRangeView& range) const {
  std::vector<std::shared_ptr<const LiveTable>> overlapping;
  for (Cursor cursor = Seek(range.smallest); cursor.Valid() && cursor->smallest_key() <= range.largest;
       cursor.Next()) {
    overlapping.push_back(cursor.shared());
  }
  return overlapping;
}

bool SortedTables::AnyOverlaps(const KeyRangeView& range) const {
  const Cursor cursor = Seek(range.smallest);
  return cursor.Valid() && cursor->smallest_key() <= range.largest;
}

std::shared_ptr<const SortedTables::Chunk> SortedTables::MakeChunk(
    std::vector<std::shared_ptr<const LiveTable>> tables) {
  auto chunk = std::make_shared<Chunk>();
  std::vector<std::string_view> borders;
  borders.reserve(2 * tables.size());
  for (const std::shared_ptr<const LiveTable>& table : tables) {
    chunk->totals.Add(*table);
    borders.push_back(table->smallest_key());
    borders.push_back(table->largest_key());
  }
  chunk->borders = KeyFences(borders);
  chunk->tables = std::move(tables);
  return chunk;
}

// Puts an edited list together in key order, checking that each table lies behind the one before it.
class SortedTables::Builder {
 public:
  // A chunk as it was: what is inside it was checked when it was made.
  Status TakeOver(const std::shared_ptr<const Chunk>& chunk) {
    Status behind = CheckBehind(*chunk->tables.front());
    previous_ = chunk->tables.back().get();
    list_.push_back(chunk);
    return behind;
  }

  // Changed tables: joined with the last chunk where both are small, split evenly where they are many.
  Status Append(std::vector<std::shared_ptr<const LiveTable>> tables) {
    for (const std::shared_ptr<const LiveTable>& table : tables) {
      Status behind = CheckBehind(*table);
      if (!behind.ok()) {
        return behind;
      }
      previous_ = table.get();
    }
    if (!tables.empty() && !list_.empty() &&
        list_.back()->tables.size() + tables.size() <= kChunkTablesJoin) {
      tables.insert(tables.begin(), list_.back()->tables.begin(), list_.back()->tables.end());
      list_.pop_back();
    }
    const size_t parts = CeilDiv(tables.size(), kChunkTablesMax);
    for (size_t part = 0; part < parts; ++part) {
      const auto begin = tables.begin() + static_cast<ptrdiff_t>(tables.size() * part / parts);
      const auto end = tables.begin() + static_cast<ptrdiff_t>(tables.size() * (part + 1) / parts);
      list_.push_back(MakeChunk({begin, end}));
    }
    return {};
  }

  SortedTables Finish() {
    SortedTables built;
    std::vector<std::string_view> largest_keys;
    largest_keys.reserve(list_.size());
    for (const std::shared_ptr<const Chunk>& chunk : list_) {
      built.totals_.Add(chunk->totals);
      largest_keys.push_back(chunk->tables.back()->largest_key());
    }
    built.largest_keys_ = KeyFences(largest_keys);
    built.chunks_ = std::move(list_);
    return built;
  }

 private:
  Status CheckBehind(const LiveTable& table) const {
    if (previous_ != nullptr && previous_->largest_key() >= table.smallest_key()) {
      return Corruption(
          fmt::format("tables {} and {} of one level overlap", previous_->id().value, table.id().value));
    }
    return {};
  }

  ChunkList list_;
  const LiveTable* previous_ = nullptr;
};

Result<SortedTables> SortedTables::Edited(const std::vector<TableName>& removed,
                                          std::vector<std::shared_ptr<const LiveTable>> added) const {
  // The new content of the chunks that the edit touches, by position in chunks_.
  std::map<size_t, std::vector<std::shared_ptr<const LiveTable>>> touched;
  const auto touch = [&](size_t chunk) -> std::vector<std::shared_ptr<const LiveTable>>& {
    const auto [place, is_new] = touched.try_emplace(chunk);
    if (is_new && chunk < chunks_.size()) {
      place->second = chunks_[chunk]->tables;
    }
    return place->second;
  };
  for (const TableName& name : removed) {
    std::vector<std::shared_ptr<const LiveTable>>& tables = touch(ChunkOf(name.smallest_key));
    const size_t erased = std::erase_if(tables, [&](const std::shared_ptr<const LiveTable>& table) {
      return table->id() == name.id && table->generation() == name.generation;
    });
    if (erased != 1) {
      return Corruption(fmt::format("an edit removes table {} generation {}, which is not in its level",
                                    name.id.value, name.generation.value));
    }
  }
  for (std::shared_ptr<const LiveTable>& table : added) {
    // Behind the last chunk means into the last one, which is split when it grows.
    const size_t chunk = std::min(ChunkOf(table->largest_key()), std::max<size_t>(chunks_.size(), 1) - 1);
    touch(chunk).push_back(std::move(table));
  }

  Builder builder;
  for (size_t chunk = 0; chunk < std::max<size_t>(chunks_.size(), 1); ++chunk) {
    const auto changed = touched.find(chunk);
    Status step;
    if (changed != touched.end()) {
      std::sort(changed->second.begin(), changed->second.end(),
                [](const auto& a, const auto& b) { return a->smallest_key() < b->smallest_key(); });
      step = builder.Append(std::move(changed->second));
    } else if (chunk < chunks_.size()) {
      step = builder.TakeOver(chunks_[chunk]);
    }
    if (!step.ok()) {
      return step.error();
    }
  }
  return builder.Finish();
}

}  // namespace varve
