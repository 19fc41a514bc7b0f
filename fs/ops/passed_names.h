// PassedNames: the names that one pass over a directory has passed, in name order, numbered from 0. They are
// what an offset that was given out means, whatever has become of the directory since.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace varve {

// One caller at a time. Memory: what Trim leaves of the newest names, and one name for every
// kCheckpointEvery that were passed.
class PassedNames {
 public:
  static constexpr uint64_t kCheckpointEvery = 1024;
  // Some ten thousand names.
  static constexpr size_t kRememberedBytes = size_t{256} << 10;

  // Behind `passed` entries, the last of which has the name `last` (empty: before all).
  struct Place {
    uint64_t passed = 0;
    std::string last;
  };

  // The ordinals of what is remembered are [first, end).
  uint64_t first() const { return first_; }
  uint64_t end() const { return first_ + ends_.size(); }
  // Precondition: first() <= ordinal < end(). Valid until the next change.
  std::string_view At(uint64_t ordinal) const;
  // Precondition: `name` is greater than all before.
  void Append(std::string_view name);

  // The nearest known place at or before `passed`: that one itself where its name is remembered.
  Place Nearest(uint64_t passed) const;
  // What follows is numbered anew, from `passed` on. Precondition: Nearest(passed).passed == passed.
  void Forget(uint64_t passed);
  // Lets go of the oldest names that are too many, but of none from `keep_from` on.
  void Trim(uint64_t keep_from);
  void Clear();

 private:
  std::string bytes_;
  std::vector<size_t> ends_;  // of each name, in bytes_
  uint64_t first_ = 0;
  std::vector<std::string> checkpoints_;  // the names 0, 1024, 2048, …
};

}  // namespace varve
