// ClientPlaces: which clients move from CPU to CPU between their requests.
//
// A client that waits on an idle CPU is answered there, by that CPU's reactor; and as the scheduler sees the
// reactor run while the client wakes, it puts the client on another CPU, if one is idle: which has to come
// out of its sleep, as its reactor has for the next request, and so on, back and forth. That costs as much as
// the request. Where no other CPU is idle at that moment the client stays. So who is seen to move is answered
// with the other reactors awake for a while (docs/design/fuse.md).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace varve {

// Any thread. A client that shares its slot with another one may not be noticed.
class ClientPlaces {
 public:
  // After a move, so many requests are answered with the client to be kept in place; then whether it moves is
  // seen anew. Few enough for who is moved for other reasons, once.
  static constexpr uint32_t kKeptRequests = 256;

  // A request of the thread `client` (0: of nobody in particular) has come to `reactor`. Whether the client
  // is to be kept there.
  bool IsToBeKept(uint32_t client, uint16_t reactor);

 private:
  static constexpr size_t kSlots = 64;
  static constexpr size_t kCacheLineBytes = 64;
  struct alignas(kCacheLineBytes) Slot {
    // The client, where it asked last, and how many requests it is to be kept for.
    std::atomic<uint64_t> seen{0};
  };

  std::array<Slot, kSlots> slots_;
};

}  // namespace varve
