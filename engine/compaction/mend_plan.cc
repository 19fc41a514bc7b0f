#include "engine/compaction/mend_plan.h"

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

class Planner {
 public:
  Planner(const std::vector<IndexEntry>& blocks, const RecordRun& records)
      : blocks_(blocks), records_(records) {}

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

  void AddDirty(size_t block, const Stretch& stretch) {
    plan_.dirty_blocks += 1;
    plan_.dirty_bytes += blocks_[block].block.bytes;
    MendStep& step = StepOf(true, block, stretch.begin);
    step.end_block = block + 1;
    step.end_record = stretch.end;
  }
  void AddClean(size_t block, size_t record) {
    MendStep& step = StepOf(false, block, record);
    step.end_block = block + 1;
  }
  void AddGap(size_t before_block, const Stretch& stretch) {
    MendStep& step = StepOf(true, before_block, stretch.begin);
    step.end_record = stretch.end;
  }

  MendPlan Take() { return std::move(plan_); }

 private:
  MendStep& StepOf(bool merges, size_t block, size_t record) {
    if (plan_.steps.empty() || plan_.steps.back().merges != merges) {
      plan_.steps.push_back({merges, block, block, record, record});
    }
    return plan_.steps.back();
  }

  const std::vector<IndexEntry>& blocks_;
  const RecordRun& records_;
  size_t next_record_ = 0;
  MendPlan plan_;
};

uint64_t BytesOf(const RecordRun& records, const Stretch& stretch) {
  uint64_t bytes = 0;
  for (size_t i = stretch.begin; i < stretch.end; ++i) {
    bytes += records.key(i).size() + records.value(i).size();
  }
  return bytes;
}

}  // namespace

MendPlan PlanMend(const std::vector<IndexEntry>& blocks, const RecordRun& records, uint64_t gap_bytes_min) {
  // First where each record goes: before block i, or into it.
  Planner planner(blocks, records);
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
    const bool few = before[i].begin < before[i].end && BytesOf(records, before[i]) < gap_bytes_min;
    if (few && !beside_dirty && !blocks.empty()) {
      dirty[i > 0 ? i - 1 : 0] = true;
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
