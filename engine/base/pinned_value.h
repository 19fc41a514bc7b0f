// PinnedValue: what a read gives back, from whichever room found it.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

namespace varve {

// A value that stays where it lies (memtable, cached block) as long as this object lives. Holding many of
// them for long holds memory: copy what is to be kept. Moves, and may be destroyed on any thread, before the
// store is closed.
class PinnedValue {
 public:
  // Lets go of what holds the bytes: two words that the pinning room chose. A hit allocates nothing for it.
  using Release = void (*)(void* first, void* second);

  PinnedValue() = default;
  PinnedValue(std::string_view bytes, void* first, void* second, Release release)
      : bytes_(bytes), first_(first), second_(second), release_(release) {}
  // For stores whose values lie on the heap (fakes): costs an allocation.
  PinnedValue(std::string_view bytes, std::shared_ptr<const void> owner)
      : PinnedValue(bytes, new std::shared_ptr<const void>(std::move(owner)), nullptr,
                    [](void* first, void*) { delete static_cast<std::shared_ptr<const void>*>(first); }) {}
  PinnedValue(PinnedValue&& other) noexcept
      : bytes_(other.bytes_),
        first_(other.first_),
        second_(other.second_),
        release_(std::exchange(other.release_, nullptr)) {}
  PinnedValue& operator=(PinnedValue&& other) noexcept {
    if (this != &other) {
      Drop();
      bytes_ = other.bytes_;
      first_ = other.first_;
      second_ = other.second_;
      release_ = std::exchange(other.release_, nullptr);
    }
    return *this;
  }
  ~PinnedValue() { Drop(); }

  std::string_view bytes() const { return bytes_; }

 private:
  void Drop() {
    if (release_ != nullptr) {
      std::exchange(release_, nullptr)(first_, second_);
    }
  }

  std::string_view bytes_;
  void* first_ = nullptr;
  void* second_ = nullptr;
  Release release_ = nullptr;
};

}  // namespace varve
