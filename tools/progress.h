// Tells a waiting person how far long work has come: a bar that is redrawn on a terminal, a line now and then
// elsewhere, nothing when the work is over quickly.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "engine/base/clock.h"

namespace varve {

enum class ProgressUnit : uint8_t { kBytes, kOperations };

// Not thread-safe.
class Progress {
 public:
  using Write = std::function<void(std::string_view)>;

  // `title` says what is being done: "checking". `clock` must outlive this.
  Progress(std::string title, bool terminal, const Clock& clock, Write write,
           ProgressUnit unit = ProgressUnit::kBytes);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // To standard error, as it is.
  static Progress OnStandardError(std::string title, const Clock& clock,
                                  ProgressUnit unit = ProgressUnit::kBytes);

  // `done` of `total` units; cheap enough to call for each block. A total may grow.
  void Update(uint64_t done, uint64_t total);
  // Takes the bar off the terminal, so that what is printed next starts on a clean line. Idempotent.
  void Finish();

 private:
  std::string title_;
  bool terminal_;
  const Clock& clock_;
  Write write_;
  ProgressUnit unit_;
  uint64_t started_nanos_;
  uint64_t shown_nanos_;
  bool shown_ = false;
};

}  // namespace varve
