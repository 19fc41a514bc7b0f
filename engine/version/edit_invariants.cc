#include "engine/version/edit_invariants.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/version/range_deletes.h"

namespace varve {

namespace {

// What a set of tables holds.
struct Content {
  std::optional<KeyRange> range;
  SequenceNumber smallest_sequence = kSequenceNumberMax;
  SequenceNumber largest_sequence;
  uint64_t entries = 0;
  uint64_t tombstones = 0;

  void Add(const TableView& view) {
    const KeyRangeView of_table(view.smallest, view.largest);
    if (range) {
      ExtendToCover(*range, of_table);
    } else {
      range = of_table.Owned();
    }
    smallest_sequence = std::min(smallest_sequence, view.smallest_sequence());
    largest_sequence = std::max(largest_sequence, view.largest_sequence());
    entries += view.entries();
    tombstones += view.tombstones();
  }
};

class EditChecker {
 public:
  EditChecker(const Version& before, const VersionEdit& edit) : before_(before), edit_(edit) {}

  std::vector<std::string> Run() {
    CheckTrims();
    CheckRetired();
    if (edit_.added_tables.empty() && edit_.removed_tables.empty()) {
      return std::move(violations_);
    }
    FindInputs();
    CheckBuffers();
    for (const VersionEdit::AddedTable& added : edit_.added_tables) {
      outputs_.Add(added.view);
      CheckGeneration(added.view);
      if (added.place.part == Part::kTree) {
        CheckIntoTree(added.place.level, added.view.id);
      } else if (added.place.part == Part::kLog) {
        CheckIntoLog(added);
      } else if (added.place.part == Part::kLevel0) {
        Require(edit_.removed_tables.empty(),
                fmt::format("table {} comes into level 0 in place of others", added.view.id.value));
      }
    }
    CheckLeaving(before_.level0(), "level 0");
    for (uint32_t level = 1; level < kLevels; ++level) {
      CheckLeavingLog(level);
    }
    CheckLeavingTrees();
    if (!edit_.removed_tables.empty() && outputs_.range) {
      CheckContents();
    }
    return std::move(violations_);
  }

 private:
  void Require(bool holds, std::string violation) {
    if (!holds) {
      violations_.push_back(std::move(violation));
    }
  }

  void FindInputs() {
    std::map<uint64_t, const VersionEdit::RemovedTable*> removed;
    for (const VersionEdit::RemovedTable& table : edit_.removed_tables) {
      removed.emplace(table.table.id.value, &table);
    }
    before_.ForEachTable([&](const LiveTable& table) {
      const auto found = removed.find(table.id().value);
      if (found != removed.end()) {
        inputs_.emplace_back(found->second->place, &table);
        input_ids_.insert(table.id().value);
        replaced_.Add(table.view());
      }
    });
  }

  void CheckTrims() {
    for (const VersionEdit::TrimmedView& trim : edit_.trimmed_views) {
      for (const BufferedView& view : before_.level(trim.level).buffer.views()) {
        Require(view.stamp != trim.stamp || !trim.view.has_value() ||
                    (trim.view->id == view.table->id() && KeptBlocksLieIn(*trim.view, view.table->view())),
                fmt::format("table {} of the buffer of level {} is trimmed to something else",
                            view.table->id().value, trim.level));
      }
    }
  }

  // A range tombstone goes once nothing is left that it hides: of tables, by what they say of themselves; of
  // buffers, nothing of its range is believed any more. Or newer ones hide at least as much.
  void CheckRetired() {
    for (const SequenceNumber number : edit_.removed_range_tombstones) {
      const std::optional<RangeTombstone> tombstone = before_.FindRangeTombstone(number);
      if (!tombstone.has_value()) {
        continue;
      }
      const bool is_shadowed = before_.range_tombstones()->IsUnderNewer(*tombstone);
      Require(is_shadowed || !MayHideAny(before_, *tombstone),
              fmt::format("range tombstone {} goes, and may hide something", number.value));
      for (uint32_t level = 1; level < kLevels; ++level) {
        const KeyRange range{tombstone->begin, tombstone->end};
        Require(!before_.level(level).buffer.Overlaps(range) || HasElement(level, range),
                fmt::format("range tombstone {} goes, and the buffer of level {} may hold what it hides",
                            number.value, level));
      }
    }
  }

  // The same table with the same segments, and no extent that it did not have.
  static bool KeptBlocksLieIn(const TableView& trimmed, const TableView& whole) {
    const auto had = [&](const TableExtent& part) {
      return std::any_of(whole.extents.begin(), whole.extents.end(), [&](const TableExtent& candidate) {
        return candidate.table_offset <= part.table_offset &&
               part.table_offset + part.extent.bytes() <= candidate.table_offset + candidate.extent.bytes() &&
               (part.table_offset - candidate.table_offset) / kExtentUnitBytes ==
                   part.extent.first_unit - candidate.extent.first_unit;
      });
    };
    return trimmed.segments == whole.segments && trimmed.generation >= whole.generation &&
           std::all_of(trimmed.extents.begin(), trimmed.extents.end(), had);
  }

  void CheckBuffers() {
    for (const VersionEdit::BufferElement& element : edit_.buffer_elements) {
      if (element.view.has_value()) {
        CheckIntoBuffer(element);
      }
    }
    for (const auto& [place, input] : inputs_) {
      if (place.level + 1 >= kLevels || !GoesDown(place.level)) {
        continue;
      }
      const Buffer& buffer = before_.level(place.level + 1).buffer;
      Require(!buffer.Overlaps(input->range()) || HasElement(place.level + 1, input->range()),
              fmt::format("table {} goes into level {}, whose buffer knows nothing of it", input->id().value,
                          place.level + 1));
    }
  }

  // Nothing of the edit is added to the level that the table leaves.
  bool GoesDown(uint32_t level) const {
    return std::none_of(edit_.added_tables.begin(), edit_.added_tables.end(),
                        [&](const auto& added) { return added.place.level == level; });
  }

  bool HasElement(uint32_t level, const KeyRangeView& range) const {
    return std::any_of(edit_.buffer_elements.begin(), edit_.buffer_elements.end(), [&](const auto& element) {
      return element.level == level && KeyRangeView(element.range).Covers(range);
    });
  }

  void CheckIntoBuffer(const VersionEdit::BufferElement& element) {
    const TableView& view = *element.view;
    const auto is_it = [&](const auto& input) {
      return input.first.level + 1 == element.level && input.second->id() == view.id &&
             KeptBlocksLieIn(view, input.second->view());
    };
    Require(std::any_of(inputs_.begin(), inputs_.end(), is_it),
            fmt::format("table {} comes into the buffer of level {}, and is not what is merged",
                        view.id.value, element.level));
    Require(element.range == KeyRangeView(view.smallest, view.largest).Owned() &&
                KeySpans::Of(element.range).Covers(element.kept),
            fmt::format("the buffer of level {} is to ask table {} for keys beyond its range", element.level,
                        view.id.value));
  }

  void CheckIntoTree(uint32_t level, TableId id) {
    Require(!inputs_.empty(),
            fmt::format("table {} comes into the tree of level {} out of nothing", id.value, level));
    for (const auto& [place, input] : inputs_) {
      Require(
          place.level == level || place.level + 1 == level,
          fmt::format("table {} goes from level {} into level {}", input->id().value, place.level, level));
      Require(
          place.part != Part::kLog || place.level != level,
          fmt::format("table {} goes from the log of level {} back into its tree", input->id().value, level));
      if (place.level + 1 == level) {
        CheckChildren(level, *input);
      }
    }
  }

  void CheckIntoLog(const VersionEdit::AddedTable& added) {
    const TableView& view = added.view;
    const Place tree{added.place.level, Part::kTree};
    const bool moves = std::any_of(inputs_.begin(), inputs_.end(), [&](const auto& input) {
      return input.first == tree && input.second->id() == view.id &&
             input.second->generation() == view.generation;
    });
    Require(moves || IsOfItselfInLog(added.place, added.stamp),
            fmt::format("table {} comes into the log of level {}, and not from its tree as it is nor in the "
                        "place of what it was made of",
                        view.id.value, added.place.level));
  }

  // Whether the edit merges one table of that Log with itself, and that one was there with this stamp. What
  // it holds is what the table held (CheckContents), so what is older may stay below it.
  bool IsOfItselfInLog(Place log, InstallStamp stamp) const {
    if (edit_.removed_tables.size() != 1 || edit_.added_tables.size() > 1 || inputs_.size() != 1 ||
        inputs_.front().first != log) {
      return false;
    }
    const std::vector<StampedTable>& tables = before_.level(log.level).log;
    return std::any_of(tables.begin(), tables.end(), [&](const StampedTable& placed) {
      return placed.stamp == stamp && placed->id() == inputs_.front().second->id();
    });
  }

  // A table that stays under its name is moved as it is, or it gets its next generation: the segments before
  // and one more, or one segment in place of one.
  void CheckGeneration(const TableView& view) {
    for (const auto& [place, input] : inputs_) {
      if (input->id() != view.id || input->generation() == view.generation) {
        continue;
      }
      const std::vector<SegmentDescriptor>& before = input->view().segments;
      const bool appended = view.segments.size() == before.size() + 1 &&
                            std::equal(before.begin(), before.end(), view.segments.begin(),
                                       [](const SegmentDescriptor& a, const SegmentDescriptor& b) {
                                         return a.footer == b.footer && a.entries == b.entries;
                                       });
      const bool mended = view.segments.size() == 1 && before.size() == 1;
      Require(view.generation == input->generation().Next() && (appended || mended),
              fmt::format("generation {} of table {} does not follow from generation {}",
                          view.generation.value, view.id.value, input->generation().value));
    }
  }

  void CheckChildren(uint32_t level, const LiveTable& input) {
    for (const std::shared_ptr<const LiveTable>& child : before_.tree(level).Overlapping(input.range())) {
      Require(input_ids_.contains(child->id().value),
              fmt::format("table {} goes into level {}, where table {} overlaps it and is not merged",
                          input.id().value, level, child->id().value));
    }
  }

  void CheckLeavingLog(uint32_t level) {
    const Place log{level, Part::kLog};
    // Nothing may be left of a table that is merged with itself.
    const bool of_itself = edit_.added_tables.empty()
                               ? edit_.removed_tables.size() == 1 && edit_.removed_tables.front().place == log
                               : IsOfItselfInLog(log, edit_.added_tables.front().stamp);
    if (!of_itself) {
      CheckLeaving(before_.level(level).log, fmt::format("the log of level {}", level));
    }
  }

  // Older records that stay above would be found first.
  void CheckLeaving(const std::vector<StampedTable>& tables, const std::string& where) {
    for (size_t newer = 0; newer < tables.size(); ++newer) {
      if (!input_ids_.contains(tables[newer]->id().value)) {
        continue;
      }
      for (size_t older = 0; older < newer; ++older) {
        Require(input_ids_.contains(tables[older]->id().value) ||
                    !tables[older]->range().Overlaps(tables[newer]->range()),
                fmt::format("table {} leaves {} before the older table {}, which it overlaps",
                            tables[newer]->id().value, where, tables[older]->id().value));
      }
    }
  }

  // The same of a Tree, which is newer than the whole Log beside it.
  void CheckLeavingTrees() {
    for (const auto& [place, input] : inputs_) {
      if (place.part != Part::kTree || !ReachesTreeBelow(place.level)) {
        continue;
      }
      for (const StampedTable& older : before_.level(place.level).log) {
        Require(
            input_ids_.contains(older->id().value) || !older->range().Overlaps(input->range()),
            fmt::format("table {} leaves the tree of level {}, whose log keeps table {}, which it overlaps",
                        input->id().value, place.level, older->id().value));
      }
    }
  }

  // A merge of which nothing is left shows by the children that it took.
  bool ReachesTreeBelow(uint32_t level) const {
    const auto is_below = [level](const Place& place) {
      return place.part == Part::kTree && place.level > level;
    };
    return std::any_of(edit_.added_tables.begin(), edit_.added_tables.end(),
                       [&](const auto& added) { return is_below(added.place); }) ||
           std::any_of(inputs_.begin(), inputs_.end(),
                       [&](const auto& input) { return is_below(input.first); });
  }

  void CheckContents() {
    if (!replaced_.range) {
      return;
    }
    Require(KeyRangeView(*replaced_.range).Covers(*outputs_.range),
            "what is added reaches beyond the range of what it replaces");
    Require(replaced_.smallest_sequence <= outputs_.smallest_sequence &&
                outputs_.largest_sequence <= replaced_.largest_sequence,
            "what is added holds other sequence numbers than what it replaces");
    Require(outputs_.entries <= replaced_.entries && outputs_.tombstones <= replaced_.tombstones,
            "what is added holds more records than what it replaces");
  }

  const Version& before_;
  const VersionEdit& edit_;
  std::vector<std::pair<Place, const LiveTable*>> inputs_;
  std::set<uint64_t> input_ids_;
  Content replaced_;
  Content outputs_;
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> CheckEdit(const Version& before, const VersionEdit& edit) {
  return EditChecker(before, edit).Run();
}

}  // namespace varve
