#include "engine/compaction/merge_rules.h"

#include <algorithm>

namespace varve {

bool MergeRules::Follows(std::string_view internal_key) const {
  if (!has_key_) {
    return true;
  }
  const int order = UserKeyOf(internal_key).compare(user_key_);
  return order > 0 || (order == 0 && TrailerOf(internal_key) <= last_trailer_);
}

bool MergeRules::IsHidden(std::string_view user_key, SequenceNumber sequence, size_t stripe) {
  if (!cover_.HoldsFor(user_key)) {
    cover_ = ranges_->CoverAt(user_key, kSequenceNumberMax);
  }
  if (cover_.newest <= sequence) {
    return false;
  }
  if (stripe < snapshots_.size() && ranges_->NewestAt(user_key, snapshots_[stripe]) > sequence) {
    return true;
  }
  // A snapshot, or a reader of the newest state, sees it.
  const SequenceNumber oldest = ranges_->OldestAfter(user_key, sequence);
  purged_up_to_ = std::min(purged_up_to_, SequenceNumber(oldest.value - 1));
  return false;
}

bool MergeRules::Keep(std::string_view internal_key) {
  in_doubt_ = false;
  hidden_ = false;
  const std::string_view user_key = UserKeyOf(internal_key);
  const SequenceNumber sequence = SequenceOf(internal_key);
  // Who sees this version, unless a newer one hides it from them: the readers between the snapshot before it
  // and this.
  const size_t stripe = static_cast<size_t>(std::lower_bound(snapshots_.begin(), snapshots_.end(), sequence) -
                                            snapshots_.begin());
  last_trailer_ = TrailerOf(internal_key);
  const bool is_newest = !has_key_ || user_key != user_key_;
  if (is_newest) {
    user_key_ = user_key;
    has_key_ = true;
  } else if (stripe == last_stripe_) {
    return false;
  }
  last_stripe_ = stripe;
  if (ranges_ != nullptr && IsHidden(user_key, sequence, stripe)) {
    hidden_ = true;
    return false;
  }
  // In the first stripe nobody sees anything older of this key: a tombstone is there only to hide what lies
  // further down.
  if (KindOf(internal_key) != RecordKind::kTombstone || stripe != 0 || older_ == nullptr) {
    return true;
  }
  const bool may_be_needed = older_->MayHold(user_key);
  in_doubt_ = may_be_needed && older_->asks_tables();
  return may_be_needed;
}

}  // namespace varve
