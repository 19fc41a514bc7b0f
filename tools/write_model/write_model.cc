#include "tools/write_model/write_model.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "engine/base/prng.h"
#include "engine/store/store_shape.h"
#include "tools/write_model/model_table.h"

namespace varve::write_model {
namespace {

// What restart points, trailers and the padding of the log add to records.
constexpr double kOverhead = 1.015;

class WriteModel {
 public:
  WriteModel(const ModelOptions& options, const StoreShape& shape)
      : options_(options), shape_(shape), prng_(options.seed) {}

  ModelResult Run() {
    const uint64_t memtable_records = std::max<uint64_t>(1, shape_.memtable_bytes / options_.record_bytes);
    Keys memtable;
    for (uint64_t i = 0; i < options_.records; ++i) {
      memtable.push_back(static_cast<uint32_t>(prng_.Below(options_.records)));
      if (memtable.size() == memtable_records) {
        Flush(std::exchange(memtable, {}));
        MergeWhatIsDue();
      }
    }
    result_.user_bytes = static_cast<double>(options_.records * options_.record_bytes);
    for (uint32_t level = 1; level < kLevels; ++level) {
      for (const ModelTable& table : levels_[level]) {
        const LevelShape sizes = ShapeOfLevel(level);
        ModelLevel& of = result_.levels[level];
        of.wasted_bytes += table.wasted_bytes;
        of.bytes += table.LiveBytes(sizes) + table.MetaBytes(sizes) + table.wasted_bytes;
      }
    }
    return std::move(result_);
  }

 private:
  bool KeepsParts(uint32_t level) const {
    const MergeLimits limits = shape_.LimitsOf(level, {});
    return limits.block || limits.append;
  }
  LevelShape ShapeOfLevel(uint32_t level) const {
    const SegmentOptions segment = shape_.OptionsOf(level);
    LevelShape sizes;
    sizes.record_bytes = options_.record_bytes;
    sizes.table_bytes = shape_.tree.table_bytes;
    sizes.block_bytes = segment.block_bytes;
    sizes.bits_per_key = segment.bits_per_key;
    sizes.filter_reserve = segment.filter_reserve;
    sizes.filter_share_max = segment.filter_share_max;
    return sizes;
  }

  void Flush(Keys keys) {
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    result_.levels[0].written_bytes += static_cast<double>(keys.size() * options_.record_bytes) * kOverhead;
    level0_.push_back(std::move(keys));
  }

  double LiveBytesOf(uint32_t level) const {
    uint64_t records = 0;
    for (const ModelTable& table : levels_[level]) {
      records += table.keys.size();
    }
    return static_cast<double>(records * options_.record_bytes);
  }

  void MergeWhatIsDue() {
    while (true) {
      double most = static_cast<double>(level0_.size()) / shape_.tree.level0_tables_trigger;
      uint32_t due = 0;
      for (uint32_t level = 1; level + 1 < kLevels; ++level) {
        const double score = LiveBytesOf(level) / static_cast<double>(LevelCapacityBytes(shape_.tree, level));
        if (score > most) {
          most = score;
          due = level;
        }
      }
      if (most < 1) {
        return;
      }
      due == 0 ? MergeLevel0() : MergeFrom(due);
    }
  }

  void MergeLevel0() {
    Keys all;
    for (const Keys& keys : std::exchange(level0_, {})) {
      all = MergedKeys(all, keys);
    }
    MergeInto(1, std::move(all));
  }

  // The table that overlaps least below, for its size.
  void MergeFrom(uint32_t level) {
    std::vector<ModelTable>& tables = levels_[level];
    size_t picked = 0;
    double least = 0;
    for (size_t i = 0; i < tables.size(); ++i) {
      const auto [first, end] = Overlapping(level + 1, tables[i].keys);
      double records = 0;
      for (size_t child = first; child < end; ++child) {
        records += static_cast<double>(levels_[level + 1][child].keys.size());
      }
      const double overlap = records / static_cast<double>(tables[i].keys.size());
      if (i == 0 || overlap < least) {
        least = overlap;
        picked = i;
      }
    }
    ModelTable table = std::move(tables[picked]);
    tables.erase(tables.begin() + static_cast<std::ptrdiff_t>(picked));
    const auto [first, end] = Overlapping(level + 1, table.keys);
    if (first == end) {
      std::vector<ModelTable>& below = levels_[level + 1];
      below.insert(below.begin() + static_cast<std::ptrdiff_t>(first), std::move(table));
    } else {
      MergeInto(level + 1, std::move(table.keys));
    }
  }

  std::pair<size_t, size_t> Overlapping(uint32_t level, const Keys& keys) const {
    const std::vector<ModelTable>& tables = levels_[level];
    const auto first =
        std::lower_bound(tables.begin(), tables.end(), keys.front(),
                         [](const ModelTable& table, uint32_t key) { return table.keys.back() < key; });
    auto end = first;
    while (end != tables.end() && end->keys.front() <= keys.back()) {
      ++end;
    }
    return {first - tables.begin(), end - tables.begin()};
  }

  void MergeInto(uint32_t level, Keys records) {
    std::vector<ModelTable>& tables = levels_[level];
    const auto [first, end] = Overlapping(level, records);
    std::vector<ModelTable> children(
        std::make_move_iterator(tables.begin() + static_cast<std::ptrdiff_t>(first)),
        std::make_move_iterator(tables.begin() + static_cast<std::ptrdiff_t>(end)));
    tables.erase(tables.begin() + static_cast<std::ptrdiff_t>(first),
                 tables.begin() + static_cast<std::ptrdiff_t>(end));
    std::vector<ModelTable> merged = MergeChildren(level, std::move(children), records);
    tables.insert(tables.begin() + static_cast<std::ptrdiff_t>(first),
                  std::make_move_iterator(merged.begin()), std::make_move_iterator(merged.end()));
  }

  std::vector<ModelTable> MergeChildren(uint32_t level, std::vector<ModelTable> children,
                                        const Keys& records) {
    const LevelShape sizes = ShapeOfLevel(level);
    uint64_t held = 0;
    for (const ModelTable& child : children) {
      held += child.keys.size() * options_.record_bytes;
    }
    const bool are_small = children.size() > 1 && held < children.size() * sizes.table_bytes / 2;
    if (children.empty() || are_small || !KeepsParts(level)) {
      Keys all = records;
      for (const ModelTable& child : children) {
        all = MergedKeys(all, child.keys);
      }
      result_.levels[level].children_by[static_cast<size_t>(ChildMerge::kTable)] += children.size();
      return TablesOf(all, sizes, result_.levels[level].written_bytes);
    }
    std::vector<ModelTable> merged;
    auto next = records.begin();
    for (size_t i = 0; i < children.size(); ++i) {
      const auto behind = i + 1 == children.size()
                              ? records.end()
                              : std::upper_bound(next, records.end(), children[i].keys.back());
      MergeChild(level, std::move(children[i]), Keys(next, behind), merged);
      next = behind;
    }
    return merged;
  }

  void MergeChild(uint32_t level, ModelTable child, const Keys& records, std::vector<ModelTable>& merged) {
    const LevelShape sizes = ShapeOfLevel(level);
    double all = 0;
    for (uint32_t i = 1; i < kLevels; ++i) {
      all += LiveBytesOf(i);
    }
    const MergeLimits limits = shape_.LimitsOf(level, {.of_store = all > 0 ? LiveBytesOf(level) / all : 0});
    ChildFacts facts;
    facts.table_bytes = sizes.table_bytes;
    facts.block_bytes = sizes.block_bytes;
    facts.wasted_bytes = static_cast<uint64_t>(child.wasted_bytes);
    facts.live_bytes = static_cast<uint64_t>(child.LiveBytes(sizes));
    facts.meta_bytes = static_cast<uint64_t>(child.MetaBytes(sizes));
    facts.data_bytes = facts.live_bytes;
    facts.data_blocks = child.index.size();
    facts.segments = child.segments;
    facts.filter = child.filter;
    facts.filter.bits_per_key = sizes.bits_per_key;
    facts.records = records.size();
    facts.record_bytes = records.size() * sizes.record_bytes;
    ModelMend mend;
    if (limits.block && child.segments == 1 && facts.record_bytes < facts.live_bytes / 2) {
      mend = Mend(child, records, sizes);
      facts.dirty = mend.facts;
    }
    const ChildMerge choice = ChooseMerge(facts, limits);
    ModelLevel& into = result_.levels[level];
    into.children_by[static_cast<size_t>(choice)] += 1;
    if (choice == ChildMerge::kKeep) {
      merged.push_back(std::move(child));
      return;
    }
    Keys keys = MergedKeys(child.keys, records);
    if (choice == ChildMerge::kTable) {
      std::vector<ModelTable> tables = TablesOf(keys, sizes, into.written_bytes);
      std::move(tables.begin(), tables.end(), std::back_inserter(merged));
      return;
    }
    const size_t replaced = child.keys.size() + records.size() - keys.size();
    child.filter.insertions += records.size() - replaced;
    child.keys = std::move(keys);
    if (choice == ChildMerge::kBlock) {
      child.index = std::move(mend.index);
      child.wasted_bytes += mend.wasted_bytes;
      into.written_bytes += mend.written_bytes * kOverhead + child.MetaBytes(sizes);
    } else {
      LevelShape one = sizes;
      one.table_bytes = UINT64_MAX / 2;
      const std::vector<ModelTable> segment = TablesOf(records, one, into.written_bytes);
      child.index.insert(child.index.end(), segment.front().index.begin(), segment.front().index.end());
      child.wasted_bytes += static_cast<double>(replaced * sizes.record_bytes);
      child.segments += 1;
    }
    merged.push_back(std::move(child));
  }

  const ModelOptions& options_;
  const StoreShape& shape_;
  Prng prng_;
  std::vector<Keys> level0_;
  std::array<std::vector<ModelTable>, kLevels> levels_;
  ModelResult result_;
};

}  // namespace

double ModelResult::written_bytes() const {
  double sum = user_bytes * kOverhead;
  for (const ModelLevel& level : levels) {
    sum += level.written_bytes;
  }
  return sum;
}

double ModelResult::bytes() const {
  double sum = 0;
  for (const ModelLevel& level : levels) {
    sum += level.bytes;
  }
  return sum;
}

Result<ModelResult> RunWriteModel(const ModelOptions& options) {
  const Result<Layout> layout = Layout::ForDevice(options.device_bytes);
  if (!layout.ok()) {
    return layout.error();
  }
  const StoreShape shape = ShapeOf(*layout, options.store, options.block_bytes, options.sector_bytes);
  return WriteModel(options, shape).Run();
}

}  // namespace varve::write_model
