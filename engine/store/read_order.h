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

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

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
    while (level_ == 0) {
      if (const LiveTable* const table = NextOf(version_->level0(), user_key)) {
        return {table, 0, true};
      }
      EnterLevel(1);
    }
    while (level_ < kLevels) {
      const Level& level = version_->level(level_);
      if (in_tree_) {
        in_tree_ = false;
        if (const LiveTable* const table = level.tree.Find(user_key)) {
          return {table, level_, false};
        }
      }
      if (!log_) {
        log_ = level.log_index.At(user_key);
      }
      if (!log_->empty()) {
        const LiveTable* const table = log_->front();
        log_ = log_->subspan(1);
        return {table, level_, true};
      }
      EnterLevel(level_ + 1);
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
  // `level`, or the next below it that holds anything.
  void EnterLevel(uint32_t level) {
    while (level < kLevels && version_->level(level).tree.empty() && version_->level(level).log.empty()) {
      level++;
    }
    level_ = level;
    in_tree_ = true;
    log_.reset();
  }

  const Version* version_;
  uint32_t level_ = 0;
  bool in_tree_ = false;
  // Of level 0, which is walked backwards: how many are left.
  size_t position_;
  // Once the level's Log is asked: what it has left to ask.
  std::optional<std::span<const LiveTable* const>> log_;
};

}  // namespace varve
