#include "engine/store/store_iterator.h"

#include <algorithm>

namespace varve {

namespace {

// After this many versions of one key a search is cheaper than more steps.
constexpr size_t kStepsBeforeSeek = 8;
// Behind a turn of sources so many steps are made before the next one may go on alone.
constexpr uint32_t kStepsTogether = 16;
// Fewer take a move less time than one read of the device.
constexpr uint64_t kTombstonesWorthTelling = 256;

}  // namespace

Step UserIterator::Wait() {
  waiting_ = true;
  return Step::kNeedsIo;
}

bool UserIterator::ReadInnerKey(std::string_view& key) {
  if (!source_->Valid()) {
    status_ = source_->status();
    return false;
  }
  key = source_->key();
  if (key.size() < kTrailerBytes ||
      static_cast<uint8_t>(KindOf(key)) > static_cast<uint8_t>(RecordKind::kValue)) {
    status_ = Corruption("a record of a kind that this version does not know");
    return false;
  }
  return true;
}

Step UserIterator::SeekInner(std::string_view internal_key) {
  source_ = inner_.get();
  const Step step = inner_->Seek(internal_key);
  if (step == Step::kDone) {
    GoOnAlone();
  }
  return step;
}

Step UserIterator::MoveForward() {
  const Step step = source_->Next();
  if (step == Step::kDone && source_ == inner_.get() && ++together_ == kStepsTogether) {
    GoOnAlone();
  }
  return step;
}

void UserIterator::GoOnAlone() {
  together_ = 0;
  until_ = End();
  if (inner_->Valid()) {
    source_ = &inner_->Foremost(until_);
  }
}

void UserIterator::GoOnTogether() {
  if (source_ != inner_.get()) {
    inner_->TakeBack();
    source_ = inner_.get();
  }
  together_ = 0;
  until_ = End();
}

bool UserIterator::LeaveSource() {
  const bool has_left = source_ != inner_.get();
  GoOnTogether();
  return has_left;
}

Step UserIterator::Seek(std::string_view key) {
  backward_ = false;
  skip_ = false;
  tombstones_ = 0;
  valid_ = false;
  status_ = OkStatus();
  const std::string_view from = std::max(key, std::string_view(lower_));
  if (SeekInner(SeekKey(from, snapshot_)) == Step::kNeedsIo) {
    return Wait();
  }
  return FindForward();
}

Step UserIterator::SeekForPrev(std::string_view key) {
  backward_ = true;
  has_bound_ = false;
  has_candidate_ = false;
  valid_ = false;
  status_ = OkStatus();
  // Upper is exclusive: what sorts before all its versions.
  const bool beyond = !upper_.empty() && key >= upper_;
  const std::string target = beyond ? SeekKey(upper_, kSequenceNumberMax) : LastKeyOf(key);
  source_ = inner_.get();
  if (inner_->SeekForPrev(target) == Step::kNeedsIo) {
    return Wait();
  }
  return FindBackward();
}

Step UserIterator::Next() {
  valid_ = false;
  skip_ = true;
  skipped_ = 0;
  if (backward_) {
    // key_ is the key that was shown, and inner_ stands before its versions.
    backward_ = false;
    if (SeekInner(LastKeyOf(key_)) == Step::kNeedsIo) {
      return Wait();
    }
    return FindForward();
  }
  key_.assign(UserKeyOf(source_->key()));
  if (MoveForward() == Step::kNeedsIo) {
    return Wait();
  }
  return FindForward();
}

Step UserIterator::Prev() {
  valid_ = false;
  has_candidate_ = false;
  if (!backward_) {
    backward_ = true;
    has_bound_ = true;
    bound_.assign(UserKeyOf(source_->key()));
    GoOnTogether();
    if (inner_->Prev() == Step::kNeedsIo) {
      return Wait();
    }
    return FindBackward();
  }
  has_bound_ = true;
  bound_ = key_;
  return FindBackward();
}

Task<void> UserIterator::Load() {
  while (waiting_) {
    co_await source_->Load();
    waiting_ = false;
    if (backward_) {
      (void)FindBackward();
    } else {
      if (source_ == inner_.get()) {
        GoOnAlone();
      }
      (void)FindForward();
    }
  }
}

Step UserIterator::FindForward() {
  while (true) {
    std::string_view key;
    const bool is_read = ReadInnerKey(key);
    const std::string_view user_key = is_read ? UserKeyOf(key) : key;
    if (!is_read || (until_ && user_key >= *until_)) {
      if (status_.ok() && LeaveSource()) {
        continue;
      }
      return EndForward();
    }
    const int order = user_key.compare(skip_ ? key_ : lower_);
    if (order < 0) {
      return FailOutOfOrder();
    }
    bool pass = SequenceOf(key) > snapshot_;
    if (!pass && skip_ && order == 0) {
      pass = true;
      skipped_++;
    }
    if (!pass && IsDeletion(key)) {
      pass = true;
      skip_ = true;
      skipped_ = 0;
      key_.assign(user_key);
      if (observer_ != nullptr && tombstones_++ == 0) {
        first_tombstone_.assign(user_key);
      }
    }
    if (!pass) {
      valid_ = true;
      return EndForward();
    }
    const bool seek = skip_ && skipped_ == kStepsBeforeSeek;
    skipped_ += seek ? 1 : 0;
    const Step step = seek ? SeekInner(LastKeyOf(key_)) : MoveForward();
    if (step == Step::kNeedsIo) {
      return Wait();
    }
  }
}

Step UserIterator::EndForward() {
  if (tombstones_ >= kTombstonesWorthTelling) {
    // key_ is that of the last one, or of a version that came after.
    observer_->OnTombstonesPassed({first_tombstone_, key_}, tombstones_);
  }
  tombstones_ = 0;
  return Step::kDone;
}

Step UserIterator::FailOutOfOrder() {
  valid_ = false;
  status_ = Corruption("the records of a table are out of order");
  return Step::kDone;
}

Step UserIterator::EndBackward() {
  valid_ = has_candidate_ && candidate_lives_ && status_.ok();
  return Step::kDone;
}

Step UserIterator::FindBackward() {
  for (std::string_view key; ReadInnerKey(key);) {
    const std::string_view user_key = UserKeyOf(key);
    if (user_key < lower_) {
      return EndBackward();
    }
    const bool pass = has_bound_ && user_key >= bound_;
    if ((!upper_.empty() && user_key >= upper_) || (has_candidate_ && user_key > key_)) {
      return FailOutOfOrder();
    }
    if (!pass) {
      if (!has_candidate_ || user_key != key_) {
        if (has_candidate_ && candidate_lives_) {
          return EndBackward();
        }
        has_candidate_ = true;
        candidate_lives_ = false;
        key_.assign(user_key);
      }
      // Versions come oldest first: each visible one replaces what was known.
      if (SequenceOf(key) <= snapshot_) {
        candidate_lives_ = !IsDeletion(key);
        if (candidate_lives_) {
          value_.assign(inner_->value());
        }
      }
    }
    if (inner_->Prev() == Step::kNeedsIo) {
      return Wait();
    }
  }
  return EndBackward();
}

}  // namespace varve
