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

bool MergeRules::Keep(std::string_view internal_key) {
  in_doubt_ = false;
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
