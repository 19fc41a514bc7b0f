#include "engine/compaction/mend_plan.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/base/internal_key.h"

namespace varve {
namespace {

// The stretch [begin, end) of records, and whether it lies in a block or between two.
struct Stretch {
  size_t begin = 0;
  size_t end = 0;
};

uint64_t BytesOf(const RecordRun& records, const Stretch& stretch) {
  uint64_t bytes = 0;
  for (size_t i = stretch.begin; i < stretch.end; ++i) {
    bytes += records.key(i).size() + records.value(i).size();
  }
  return bytes;
}

class Planner {
 public:
  Planner(const std::vector<IndexEntry>& blocks, const RecordRun& records, const MendOptions& options)
      : blocks_(blocks), records_(records), options_(options) {
    plan_.keep_bytes_min = options.keep_bytes_min;
  }

  // Records before `user_key`, or with it where `with` says so.
  Stretch TakeRecords(std::string_view user_key, bool with) {
    Stretch stretch{next_record_, next_record_};
    while (stretch.end < records_.size()) {
      const int order = UserKeyOf(records_.key(stretch.end)).compare(user_key);
      if (order > 0 || (order == 0 && !with)) {
        break;
      }
      ++stretch.end;
    }
    next_record_ = stretch.end;
    return stretch;
  }
  Stretch TakeRest() {
    const Stretch rest{next_record_, records_.size()};
    next_record_ = records_.size();
    return rest;
  }

  // Whether a dirty block keeps what no record replaces.
  bool Splits(size_t block) const { return LiveBytesOf(blocks_[block]) > options_.keep_bytes_min; }

  void AddDirty(size_t block, const Stretch& stretch) {
    const IndexEntry& entry = blocks_[block];
    const uint64_t bytes = LiveBytesOf(entry);
    const uint64_t records = stretch.end - stretch.begin;
    if (Splits(block)) {
      plan_.split_blocks += 1;
      plan_.replaced_bytes +=
          std::min(bytes, std::max(BytesOf(records_, stretch), records * options_.record_bytes));
      plan_.entries += std::min(2 * records + 1, entry.entries + records);
    } else {
      plan_.dirty_blocks += 1;
      plan_.dirty_bytes += bytes;
      plan_.entries += 1 + BytesOf(records_, stretch) / options_.block_bytes;
    }
    MendStep& step = StepOf(true, block, stretch.begin);
    step.end_block = block + 1;
    step.end_record = stretch.end;
  }
  void AddClean(size_t block, size_t record) {
    plan_.entries += 1;
    MendStep& step = StepOf(false, block, record);
    step.end_block = block + 1;
  }
  void AddGap(size_t before_block, const Stretch& stretch) {
    plan_.entries += 1 + BytesOf(records_, stretch) / options_.block_bytes;
    MendStep& step = StepOf(true, before_block, stretch.begin);
    step.end_record = stretch.end;
  }

  MendPlan Take() { return std::move(plan_); }

 private:
  uint64_t LiveBytesOf(const IndexEntry& entry) const {
    return entry.is_span ? entry.entries * options_.record_bytes : entry.block.bytes;
  }
  MendStep& StepOf(bool merges, size_t block, size_t record) {
    if (plan_.steps.empty() || plan_.steps.back().merges != merges) {
      plan_.steps.push_back({merges, block, block, record, record});
    }
    return plan_.steps.back();
  }

  const std::vector<IndexEntry>& blocks_;
  const RecordRun& records_;
  const MendOptions& options_;
  size_t next_record_ = 0;
  MendPlan plan_;
};

}  // namespace

MendPlan PlanMend(const std::vector<IndexEntry>& blocks, const RecordRun& records,
                  const MendOptions& options) {
  // First where each record goes: before block i, or into it.
  Planner planner(blocks, records, options);
  std::vector<Stretch> before(blocks.size() + 1);
  std::vector<Stretch> within(blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    before[i] = planner.TakeRecords(blocks[i].smallest, false);
    within[i] = planner.TakeRecords(blocks[i].largest, true);
  }
  before[blocks.size()] = planner.TakeRest();
  std::vector<bool> dirty(blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    dirty[i] = within[i].begin < within[i].end;
  }
  for (size_t i = 0; i <= blocks.size(); ++i) {
    const bool beside_dirty = (i > 0 && dirty[i - 1]) || (i < blocks.size() && dirty[i]);
    const bool few = before[i].begin < before[i].end && BytesOf(records, before[i]) < options.gap_bytes_min;
    const size_t taker = i > 0 ? i - 1 : 0;
    // A block that would be split takes nothing in.
    if (few && !beside_dirty && !blocks.empty() && !planner.Splits(taker)) {
      dirty[taker] = true;
    }
  }
  for (size_t i = 0; i <= blocks.size(); ++i) {
    if (before[i].begin < before[i].end) {
      planner.AddGap(i, before[i]);
    }
    if (i == blocks.size()) {
      break;
    }
    if (dirty[i]) {
      planner.AddDirty(i, within[i]);
    } else {
      planner.AddClean(i, within[i].begin);
    }
  }
  return planner.Take();
}

}  // namespace varve
