// The order in which the tables of a Version are asked for a key. Decided here and nowhere else:
//
//   level 0, newest first; then for each level i = 1…: Tree_i (the one table that may hold it), Log_i, newest
//   first.
//
// For one key every sequence number in an earlier place exceeds every one in a later place, so the first
// version found that the snapshot sees is the answer. The memtables come before (read_path.cc). Buffer_i is
// asked once the filters of Tree_i or Log_i say that the level may hold the key, before a data block of
// either is looked into: a read of a level that does not hold the key costs the same with a buffer and
// without (LSbM, algorithm 3). What it answers is what they would; it is never needed for a right answer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "engine/version/version.h"

namespace varve {

// A table to ask, and where it lies.
struct TableToAsk {
  const LiveTable* table = nullptr;
  uint32_t level = 0;
  // Of level 0 or of a Log.
  bool beside_tree = false;

  bool of_log() const { return beside_tree && level != 0; }
};

// Walks the tables whose range contains one key. `version` must outlive it.
class TableReadOrder {
 public:
  explicit TableReadOrder(const Version& version) : version_(&version), position_(version.level0().size()) {}

  // The tables of the level's buffer to ask for the key, newest first.
  std::span<const LiveTable* const> Buffered(uint32_t level, std::string_view user_key) const {
    return level == 0 ? std::span<const LiveTable* const>() : version_->level(level).buffer.At(user_key);
  }

  // The next table; nullptr when there is none. The key is the same at each call.
  TableToAsk Next(std::string_view user_key) {
    if (level_ == 0) {
      if (const LiveTable* const table = NextOf(version_->level0(), user_key)) {
        return {table, 0, true};
      }
      SearchLevels(user_key);
      level_ = 1;
    }
    while (level_ < kLevels) {
      Found& found = found_[level_];
      if (found.in_tree != nullptr) {
        return {std::exchange(found.in_tree, nullptr), level_, false};
      }
      if (!found.in_log.empty()) {
        const LiveTable* const table = found.in_log.front();
        found.in_log = found.in_log.subspan(1);
        return {table, level_, true};
      }
      level_++;
    }
    return {};
  }

 private:
  const LiveTable* NextOf(const std::vector<StampedTable>& oldest_first, std::string_view user_key) {
    while (position_ > 0) {
      const LiveTable& table = *oldest_first[--position_].table;
      if (table.smallest_key() <= user_key && user_key <= table.largest_key()) {
        return &table;
      }
    }
    return nullptr;
  }
  // All levels at once, step by step: a step waits for memory that is elsewhere as a rule, and so that of one
  // level waits together with those of the others.
  void SearchLevels(std::string_view user_key) {
    std::array<size_t, kLevels> chunks{};
    for (uint32_t i = 1; i < kLevels; i++) {
      chunks[i] = version_->level(i).tree.ChunkOf(user_key);
    }
    for (uint32_t i = 1; i < kLevels; i++) {
      found_[i].in_log = version_->level(i).log_index.At(user_key);
    }
    for (uint32_t i = 1; i < kLevels; i++) {
      found_[i].in_tree = version_->level(i).tree.FindIn(chunks[i], user_key);
    }
  }

  // What is left to ask of a level.
  struct Found {
    const LiveTable* in_tree = nullptr;
    std::span<const LiveTable* const> in_log;
  };

  const Version* version_;
  uint32_t level_ = 0;
  // Of level 0, which is walked backwards: how many are left.
  size_t position_;
  // Once level 0 has been asked. [0] is not used.
  std::array<Found, kLevels> found_;
};

}  // namespace varve
