// DeeperTables: the tables of Trees and Logs that are read after a Tree, by key.
//
// Used by one coroutine. Keys are asked in ascending order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/version/version.h"

namespace varve {

class DeeperTables {
 public:
  // What is read after Tree `level`: Log_level and every deeper Tree and Log.
  DeeperTables(std::shared_ptr<const Version> version, uint32_t level) : version_(std::move(version)) {
    for (uint32_t i = level; i < kLevels; ++i) {
      const Level& of_level = version_->level(i);
      const bool has_tree = i > level && !of_level.tree.empty();
      if (has_tree || !of_level.log.empty()) {
        levels_.push_back(
            {has_tree ? std::optional(of_level.tree.First()) : std::nullopt, &of_level.log_index});
      }
    }
  }

  // Calls `visit` for each table whose range holds the key, newest first, until it answers true; whether it
  // did.
  template <typename Visit>
  bool Any(std::string_view user_key, Visit visit) {
    for (OfLevel& level : levels_) {
      if (level.tree.has_value()) {
        SortedTables::Cursor& tree = *level.tree;
        while (tree.Valid() && tree->largest_key() < user_key) {
          tree.Next();
        }
        if (tree.Valid() && tree->smallest_key() <= user_key && visit(*tree)) {
          return true;
        }
      }
      for (const LiveTable* const table : level.log->At(user_key)) {
        if (visit(*table)) {
          return true;
        }
      }
    }
    return false;
  }

 private:
  struct OfLevel {
    // None where the Tree does not count, or is empty.
    std::optional<SortedTables::Cursor> tree;
    const LogIndex* log;
  };

  std::shared_ptr<const Version> version_;
  std::vector<OfLevel> levels_;
};

}  // namespace varve
