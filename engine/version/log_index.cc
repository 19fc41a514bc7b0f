#include "engine/version/log_index.h"

#include <algorithm>
#include <compare>
#include <functional>
#include <iterator>
#include <utility>

namespace varve {

namespace {

using SharedTables = std::vector<std::shared_ptr<const LiveTable>>;

// A place between keys: before `key`, or behind it and before whatever follows it. Tables begin at the
// former and end at the latter.
struct Border {
  std::string_view key;
  bool behind = false;

  auto operator<=>(const Border&) const = default;
};

// The keys from a border up to the next piece's.
struct Piece {
  Border from;
  // Where its tables begin in Content::piece_tables; they end where those of the next piece begin.
  size_t first_table;
};

// Of intervals in the order of their beginnings, each goes to the first run that has ended before it: another
// run is begun only where all that there are cover one key.
std::vector<SharedTables> IntoRuns(const std::vector<StampedTable>& log) {
  SharedTables by_key;
  by_key.reserve(log.size());
  for (const StampedTable& placed : log) {
    by_key.push_back(placed.table);
  }
  std::sort(by_key.begin(), by_key.end(),
            [](const auto& a, const auto& b) { return a->smallest_key() < b->smallest_key(); });
  std::vector<SharedTables> runs;
  for (std::shared_ptr<const LiveTable>& table : by_key) {
    auto run = std::find_if(runs.begin(), runs.end(), [&](const SharedTables& candidate) {
      return candidate.back()->largest_key() < table->smallest_key();
    });
    if (run == runs.end()) {
      run = runs.emplace(runs.end());
    }
    run->push_back(std::move(table));
  }
  return runs;
}

}  // namespace

struct LogIndex::Content {
  // They hold the tables.
  std::vector<SortedTables> runs;
  // Ascending: from the first border of any table to the last, behind which there is none.
  std::vector<Piece> pieces;
  std::vector<const LiveTable*> piece_tables;

  void CutIntoPieces(const std::vector<StampedTable>& log);
};

void LogIndex::Content::CutIntoPieces(const std::vector<StampedTable>& log) {
  struct Change {
    Border at;
    size_t position;
  };
  std::vector<Change> changes;
  changes.reserve(2 * log.size());
  for (size_t position = 0; position < log.size(); ++position) {
    changes.push_back({{log[position]->smallest_key(), false}, position});
    changes.push_back({{log[position]->largest_key(), true}, position});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  // Positions in the Log of the tables over the piece that begins, newest first.
  std::vector<size_t> open;
  for (size_t next = 0; next < changes.size();) {
    const Border from = changes[next].at;
    for (; next < changes.size() && changes[next].at == from; ++next) {
      const size_t position = changes[next].position;
      const auto place = std::lower_bound(open.begin(), open.end(), position, std::greater<>());
      if (from.behind) {
        open.erase(place);
      } else {
        open.insert(place, position);
      }
    }
    pieces.push_back({from, piece_tables.size()});
    for (const size_t position : open) {
      piece_tables.push_back(log[position].table.get());
    }
  }
}

LogIndex::LogIndex(const std::vector<StampedTable>& log) {
  if (log.empty()) {
    return;
  }
  auto content = std::make_shared<Content>();
  for (SharedTables& run : IntoRuns(log)) {
    content->runs.push_back(SortedTables().Edited({}, std::move(run)).value());
  }
  content->CutIntoPieces(log);
  content_ = std::move(content);
}

std::span<const LiveTable* const> LogIndex::At(std::string_view user_key) const {
  if (content_ == nullptr) {
    return {};
  }
  const std::vector<Piece>& pieces = content_->pieces;
  const Border at{user_key, false};
  const auto next = std::partition_point(pieces.begin(), pieces.end(),
                                         [&](const Piece& piece) { return piece.from <= at; });
  if (next == pieces.begin() || next == pieces.end()) {
    return {};
  }
  const size_t first = std::prev(next)->first_table;
  return std::span(content_->piece_tables).subspan(first, next->first_table - first);
}

std::span<const SortedTables> LogIndex::runs() const {
  return content_ == nullptr ? std::span<const SortedTables>() : std::span(content_->runs);
}

}  // namespace varve
