#include "fs/ops/passed_names.h"

#include <algorithm>

namespace varve {

std::string_view PassedNames::At(uint64_t ordinal) const {
  const size_t index = ordinal - first_;
  const size_t begin = index == 0 ? 0 : ends_[index - 1];
  return std::string_view(bytes_).substr(begin, ends_[index] - begin);
}

void PassedNames::Append(std::string_view name) {
  if (end() == checkpoints_.size() * kCheckpointEvery) {
    checkpoints_.emplace_back(name);
  }
  bytes_.append(name);
  ends_.push_back(bytes_.size());
}

PassedNames::Place PassedNames::Nearest(uint64_t passed) const {
  if (passed == 0 || end() == 0) {
    return {};
  }
  const uint64_t last = std::min(passed, end()) - 1;
  if (last >= first_) {
    return {last + 1, std::string(At(last))};
  }
  const uint64_t checkpoint = last / kCheckpointEvery;
  return {checkpoint * kCheckpointEvery + 1, checkpoints_[checkpoint]};
}

void PassedNames::Forget(uint64_t passed) {
  bytes_.clear();
  ends_.clear();
  first_ = passed;
  checkpoints_.resize((passed + kCheckpointEvery - 1) / kCheckpointEvery);
}

void PassedNames::Trim(uint64_t keep_from) {
  if (bytes_.size() <= kRememberedBytes || keep_from <= first_) {
    return;
  }
  const auto half = std::upper_bound(ends_.begin(), ends_.end(), bytes_.size() - kRememberedBytes / 2);
  const uint64_t names = std::min<uint64_t>(static_cast<uint64_t>(half - ends_.begin()), keep_from - first_);
  const size_t bytes = ends_[names - 1];
  bytes_.erase(0, bytes);
  ends_.erase(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(names));
  for (size_t& end : ends_) {
    end -= bytes;
  }
  first_ += names;
}

void PassedNames::Clear() {
  *this = PassedNames();
}

}  // namespace varve
