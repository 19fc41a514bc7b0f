#include "engine/compaction/record_run.h"

#include <algorithm>

#include "engine/base/units.h"
#include "engine/compaction/forward_iterator.h"

namespace varve {
namespace {

constexpr size_t kChunkBytes = 256 * kKiB;

class RunIterator final : public ForwardIterator {
 public:
  RunIterator(const RecordRun& run, size_t first, size_t end, InternalIterator* rest)
      : run_(run), first_(first), end_(end), at_(end), rest_(rest) {}

  Step SeekToFirst() override {
    at_ = first_;
    return Step::kDone;
  }
  Step Next() override {
    if (at_ < end_) {
      ++at_;
      return Step::kDone;
    }
    return rest_->Next();
  }
  Task<void> Load() override { co_await rest_->Load(); }

  bool Valid() const override { return at_ < end_ || (rest_ != nullptr && rest_->Valid()); }
  std::string_view key() const override { return at_ < end_ ? run_.key(at_) : rest_->key(); }
  std::string_view value() const override { return at_ < end_ ? run_.value(at_) : rest_->value(); }
  Status status() const override { return at_ < end_ || rest_ == nullptr ? OkStatus() : rest_->status(); }
  CacheStanding standing() const override { return at_ < end_ ? run_.standing(at_) : rest_->standing(); }

 private:
  const RecordRun& run_;
  const size_t first_;
  const size_t end_;
  size_t at_;
  InternalIterator* const rest_;
};

}  // namespace

void RecordRun::Add(std::string_view internal_key, std::string_view value, CacheStanding standing) {
  records_.push_back({Copy(internal_key), Copy(value), standing});
  bytes_ += internal_key.size() + value.size();
}

std::string_view RecordRun::Copy(std::string_view bytes) {
  if (bytes.size() > free_bytes_) {
    free_bytes_ = std::max(kChunkBytes, bytes.size());
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(free_bytes_));
    free_ = chunks_.back().get();
  }
  char* const place = free_;
  std::copy(bytes.begin(), bytes.end(), place);
  free_ += bytes.size();
  free_bytes_ -= bytes.size();
  return {place, bytes.size()};
}

std::unique_ptr<InternalIterator> NewRunIterator(const RecordRun& run, size_t first, size_t end,
                                                 InternalIterator* rest) {
  return std::make_unique<RunIterator>(run, first, end, rest);
}

}  // namespace varve
