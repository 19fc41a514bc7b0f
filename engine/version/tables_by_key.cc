#include "engine/version/tables_by_key.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>

namespace varve {

TablesByKey::TablesByKey(std::span<const Stretch> stretches) {
  struct Change {
    Border at;
    bool begins;
    const Stretch* stretch;
  };
  std::vector<Change> changes;
  changes.reserve(2 * stretches.size());
  for (const Stretch& stretch : stretches) {
    changes.push_back({stretch.from, true, &stretch});
    changes.push_back({stretch.to, false, &stretch});
  }
  // Ends first: a table's stretch may begin where its one before ends.
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.at != b.at ? a.at < b.at : !a.begins && b.begins;
  });
  // Those over the piece that begins, newest first.
  std::vector<size_t> open;
  std::vector<const LiveTable*> open_tables;
  for (size_t next = 0; next < changes.size();) {
    const Border from = changes[next].at;
    for (; next < changes.size() && changes[next].at == from; ++next) {
      const Stretch& stretch = *changes[next].stretch;
      const auto place = std::lower_bound(open.begin(), open.end(), stretch.position, std::greater<>());
      const auto table = open_tables.begin() + std::distance(open.begin(), place);
      if (changes[next].begins) {
        open.insert(place, stretch.position);
        open_tables.insert(table, stretch.table);
      } else {
        open.erase(place);
        open_tables.erase(table);
      }
    }
    pieces_.push_back({from, tables_.size()});
    tables_.insert(tables_.end(), open_tables.begin(), open_tables.end());
  }
  std::vector<std::string_view> borders;
  borders.reserve(pieces_.size());
  for (const Piece& piece : pieces_) {
    borders.push_back(piece.from.key);
  }
  borders_ = KeyFences(borders);
}

std::span<const LiveTable* const> TablesByKey::At(std::string_view user_key) const {
  const Border at{user_key, false};
  const size_t next = borders_.LowerBound(user_key, [&](size_t i) { return pieces_[i].from <= at; });
  if (next == 0 || next == pieces_.size()) {
    return {};
  }
  const size_t first = pieces_[next - 1].first_table;
  return std::span(tables_).subspan(first, pieces_[next].first_table - first);
}

}  // namespace varve
