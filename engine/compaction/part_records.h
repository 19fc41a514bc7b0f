// PartRecords: what the inputs of a merge hold for one child table, forward, in pieces.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/compaction/forward_iterator.h"
#include "engine/compaction/job_environment.h"

namespace varve {

class PartRecords final : public ForwardIterator {
 public:
  // Records of user keys behind `low` and up to `high`, both held, where there are such bounds. `observer`
  // sees each key that is read; may be nullptr.
  PartRecords(std::unique_ptr<InternalIterator> inputs, std::optional<std::string> low,
              std::optional<std::string> high, MergeObserver* observer);

  // The walk pauses once so many bytes of keys and values lie behind it; it goes on where it stands when the
  // limit is raised.
  void LimitTo(uint64_t bytes) { limit_bytes_ = bytes; }
  // Whether it would go on without the limit.
  bool HasMore() const;

  Step SeekToFirst() override;
  Step Next() override;
  Task<void> Load() override;

  bool Valid() const override { return passed_bytes_ < limit_bytes_ && HasMore(); }
  std::string_view key() const override { return inputs_->key(); }
  std::string_view value() const override { return inputs_->value(); }
  Status status() const override { return inputs_->status(); }
  CacheStanding standing() const override { return inputs_->standing(); }

 private:
  std::unique_ptr<InternalIterator> inputs_;
  const std::optional<std::string> low_;
  const std::optional<std::string> high_;
  MergeObserver* const observer_;
  uint64_t limit_bytes_ = UINT64_MAX;
  uint64_t passed_bytes_ = 0;
};

}  // namespace varve
