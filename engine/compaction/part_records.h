// PartRecords: what the inputs of a merge hold for neighbouring child tables, one child after the other,
// forward, in pieces. A walk of its own for each child would read the blocks at its ends twice, of each
// segment of each input, and look up its place in all of them.
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
  // Records of user keys behind `low`, where there is such a bound. `observer` sees each key that is read;
  // may be nullptr.
  PartRecords(std::unique_ptr<InternalIterator> inputs, std::optional<std::string> low,
              MergeObserver* observer);

  // The next child takes user keys up to `high`, or all that are left. Precondition: the one before has taken
  // its own.
  void GoOnTo(std::optional<std::string> high);

  // The walk of a child's records pauses once so many bytes of keys and values lie behind it; it goes on
  // where it stands when the limit is raised.
  void LimitTo(uint64_t bytes) { limit_bytes_ = bytes; }
  // Whether it would go on without the limit.
  bool HasMore() const;

  // Of the child's.
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
  std::optional<std::string> high_;
  bool begun_ = false;
  MergeObserver* const observer_;
  uint64_t limit_bytes_ = UINT64_MAX;
  uint64_t passed_bytes_ = 0;
};

}  // namespace varve
