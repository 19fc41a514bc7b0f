// TablesByKey: which of many tables may hold a key, where the stretches of keys that they are asked for
// overlap: an index of the pieces of the key space between two ends of stretches. For Logs and Buffers.
#pragma once

#include <compare>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/key_fences.h"
#include "engine/version/live_table.h"

namespace varve {

class TablesByKey {
 public:
  // As KeyBorder, without owning its key.
  struct Border {
    std::string_view key;
    bool behind = false;

    auto operator<=>(const Border&) const = default;
  };
  struct Stretch {
    Border from;
    // Behind `from`.
    Border to;
    // Which table it is of, in their order from the oldest to the newest.
    size_t position;
    const LiveTable* table;
  };

  TablesByKey() = default;
  // In any order; those of one table are disjoint. What they point at must outlive the index. Takes O(n log n
  // + n·depth) time, and a pointer for each table over each piece.
  explicit TablesByKey(std::span<const Stretch> stretches);

  // Every table of which a stretch contains `user_key`, newest first. The hit path of a lookup: one binary
  // search.
  std::span<const LiveTable* const> At(std::string_view user_key) const;

 private:
  // The keys from a border up to the next piece's.
  struct Piece {
    Border from;
    // Where its tables begin in tables_; they end where those of the next piece begin.
    size_t first_table;
  };

  // Ascending: from the first border of any stretch to the last, behind which there is none.
  std::vector<Piece> pieces_;
  KeyFences borders_;
  std::vector<const LiveTable*> tables_;
};

}  // namespace varve
