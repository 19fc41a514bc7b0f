#include "engine/compaction/part_records.h"

#include <utility>

#include "engine/base/check.h"
#include "engine/base/internal_key.h"

namespace varve {

PartRecords::PartRecords(std::unique_ptr<InternalIterator> inputs, std::optional<std::string> low,
                         MergeObserver* observer)
    : inputs_(std::move(inputs)), low_(std::move(low)), observer_(observer) {
}

void PartRecords::GoOnTo(std::optional<std::string> high) {
  Check(!begun_ || !HasMore(), "a child has left records to the next");
  high_ = std::move(high);
}

Step PartRecords::SeekToFirst() {
  passed_bytes_ = 0;
  if (std::exchange(begun_, true)) {
    return Step::kDone;
  }
  if (!low_) {
    return inputs_->SeekToFirst();
  }
  return inputs_->Seek(LastKeyOf(*low_));
}

Step PartRecords::Next() {
  passed_bytes_ += key().size() + value().size();
  if (observer_ != nullptr) {
    observer_->OnMergedKey(UserKeyOf(key()));
  }
  return inputs_->Next();
}

Task<void> PartRecords::Load() {
  co_await inputs_->Load();
}

bool PartRecords::HasMore() const {
  return inputs_->Valid() && (!high_ || UserKeyOf(inputs_->key()) <= *high_);
}

}  // namespace varve
