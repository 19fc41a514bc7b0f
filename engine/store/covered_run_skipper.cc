#include "engine/store/covered_run_skipper.h"

#include "engine/base/internal_key.h"

namespace varve {

namespace {

// After this many records a search is cheaper than more steps.
constexpr size_t kStepsBeforeJump = 8;

// Before every version of the key.
std::string FirstKeyOf(std::string_view user_key) {
  return SeekKey(user_key, kSequenceNumberMax);
}

}  // namespace

bool CoveredRun::IsOlder(std::string_view user_key, SequenceNumber sequence) const {
  const LiveTable* const table = table_ != nullptr ? table_ : run_->Find(user_key);
  return table != nullptr && table->view().largest_sequence() < sequence;
}

std::string CoveredRun::Behind(std::string_view user_key, const RangeCover& cover) const {
  if (table_ == nullptr) {
    for (SortedTables::Cursor table = run_->Seek(user_key);
         table.Valid() && table->smallest_key() < cover.end; table.Next()) {
      if (table->view().largest_sequence() >= cover.newest) {
        return FirstKeyOf(table->smallest_key());
      }
    }
  }
  return FirstKeyOf(cover.end);
}

std::string CoveredRun::Before(std::string_view user_key, const RangeCover& cover) const {
  if (table_ == nullptr) {
    for (SortedTables::Cursor table = run_->Seek(user_key);
         table.Valid() && table->largest_key() >= cover.begin; table.Prev()) {
      if (table->view().largest_sequence() >= cover.newest) {
        return LastKeyOf(table->largest_key());
      }
    }
  }
  return FirstKeyOf(cover.begin);
}

bool CoveredRunSkipper::IsPassedOver(std::string_view user_key, SequenceNumber sequence) {
  const RangeCover& cover = covers_.Over(user_key);
  return sequence < cover.newest && run_.IsOlder(user_key, cover.newest);
}

Step CoveredRunSkipper::Seek(std::string_view internal_key) {
  forward_ = true;
  steps_ = 0;
  const std::string_view user_key = UserKeyOf(internal_key);
  if (IsPassedOver(user_key, SequenceNumber(0))) {
    return SkipAfter(inner_->Seek(run_.Behind(user_key, covers_.Over(user_key))));
  }
  return SkipAfter(inner_->Seek(internal_key));
}

Step CoveredRunSkipper::SeekForPrev(std::string_view internal_key) {
  forward_ = false;
  steps_ = 0;
  const std::string_view user_key = UserKeyOf(internal_key);
  if (IsPassedOver(user_key, SequenceNumber(0))) {
    return SkipAfter(inner_->SeekForPrev(run_.Before(user_key, covers_.Over(user_key))));
  }
  return SkipAfter(inner_->SeekForPrev(internal_key));
}

Step CoveredRunSkipper::SeekToFirst() {
  forward_ = true;
  steps_ = 0;
  return SkipAfter(inner_->SeekToFirst());
}

Step CoveredRunSkipper::SeekToLast() {
  forward_ = false;
  steps_ = 0;
  return SkipAfter(inner_->SeekToLast());
}

Step CoveredRunSkipper::Next() {
  forward_ = true;
  steps_ = 0;
  return SkipAfter(inner_->Next());
}

Step CoveredRunSkipper::Prev() {
  forward_ = false;
  steps_ = 0;
  return SkipAfter(inner_->Prev());
}

Task<void> CoveredRunSkipper::Load() {
  Step step = Step::kNeedsIo;
  while (step == Step::kNeedsIo) {
    co_await inner_->Load();
    step = Skip();
  }
}

Step CoveredRunSkipper::Skip() {
  while (inner_->Valid()) {
    const std::string_view key = inner_->key();
    if (key.size() < kTrailerBytes || !IsPassedOver(UserKeyOf(key), SequenceOf(key))) {
      return Step::kDone;
    }
    Step step = Step::kDone;
    if (++steps_ <= kStepsBeforeJump) {
      step = forward_ ? inner_->Next() : inner_->Prev();
    } else {
      steps_ = 0;
      const std::string_view user_key = UserKeyOf(key);
      const RangeCover& cover = covers_.Over(user_key);
      step = forward_ ? inner_->Seek(run_.Behind(user_key, cover))
                      : inner_->SeekForPrev(run_.Before(user_key, cover));
    }
    if (step == Step::kNeedsIo) {
      return step;
    }
  }
  return Step::kDone;
}

}  // namespace varve
