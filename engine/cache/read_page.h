// ReadPage: one huge page of memory, which many blocks were read into.
#pragma once

#include <cstddef>

#include "engine/cache/read_memory.h"

namespace varve {

class ReadPage final : public ReadMemory {
 public:
  static constexpr size_t kBytes = size_t{2} << 20;

  // With one reference. Running out of memory ends the process.
  static ReadPage* Make();
  // Touches its memory, so that whoever reads into it first does not wait for the kernel to clear it.
  void Prepare();
  // kBytes of it.
  std::byte* data() const { return data_; }

 private:
  explicit ReadPage(std::byte* data) : data_(data) {}
  ~ReadPage() override;

  std::byte* const data_;
};

}  // namespace varve
