// ReadPage: one huge page of memory, which those who point into it count.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace varve {

// Any thread.
class ReadPage {
 public:
  static constexpr size_t kBytes = size_t{2} << 20;

  // With one reference. Running out of memory ends the process.
  static ReadPage* Make();
  void Share() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Drop() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      Free();
    }
  }
  // Touches its memory, so that whoever reads into it first does not wait for the kernel to clear it.
  void Prepare();
  // kBytes of it.
  std::byte* data() const { return data_; }

 private:
  explicit ReadPage(std::byte* data) : data_(data) {}
  void Free();

  std::atomic<uint32_t> references_{1};
  std::byte* const data_;
};

}  // namespace varve
