#include "engine/compaction/merge_rules.h"

#include <algorithm>
#include <span>

namespace varve {

OlderData::OlderData(std::shared_ptr<const Version> version, uint32_t level, std::vector<TableId> except)
    : version_(std::move(version)), except_(std::move(except)) {
  for (uint32_t i = level; i < kLevels; ++i) {
    if (i > level && !version_->tree(i).empty()) {
      trees_.push_back(version_->tree(i).First());
    }
    if (!version_->level(i).log.empty()) {
      logs_.push_back(&version_->level(i).log_index);
    }
  }
}

bool OlderData::IsExcepted(const LiveTable& table) const {
  return std::binary_search(except_.begin(), except_.end(), table.id());
}

bool OlderData::MayHold(std::string_view user_key) {
  for (SortedTables::Cursor& cursor : trees_) {
    while (cursor.Valid() && cursor->largest_key() < user_key) {
      cursor.Next();
    }
    if (cursor.Valid() && cursor->smallest_key() <= user_key && !IsExcepted(*cursor)) {
      return true;
    }
  }
  return std::any_of(logs_.begin(), logs_.end(), [&](const LogIndex* log) {
    const std::span<const LiveTable* const> tables = log->At(user_key);
    return std::any_of(tables.begin(), tables.end(),
                       [&](const LiveTable* table) { return !IsExcepted(*table); });
  });
}

bool MergeRules::Follows(std::string_view internal_key) const {
  if (!has_key_) {
    return true;
  }
  const int order = UserKeyOf(internal_key).compare(user_key_);
  return order > 0 || (order == 0 && TrailerOf(internal_key) <= last_trailer_);
}

bool MergeRules::Keep(std::string_view internal_key) {
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
  return KindOf(internal_key) != RecordKind::kTombstone || stripe != 0 || older_ == nullptr ||
         older_->MayHold(user_key);
}

}  // namespace varve
