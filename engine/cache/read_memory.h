// ReadMemory: what blocks were read into, for as long as one of them points there. Those who do are counted.
#pragma once

#include <atomic>
#include <cstdint>

namespace varve {

// Begins with one reference. Any thread.
class ReadMemory {
 public:
  ReadMemory(const ReadMemory&) = delete;
  ReadMemory& operator=(const ReadMemory&) = delete;

  void Share() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Drop() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
  }

 protected:
  ReadMemory() = default;
  virtual ~ReadMemory() = default;

 private:
  std::atomic<uint32_t> references_{1};
};

}  // namespace varve
