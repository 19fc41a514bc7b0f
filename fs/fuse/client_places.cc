#include "fs/fuse/client_places.h"

namespace varve {

namespace {

constexpr unsigned kClientShift = 32;
constexpr unsigned kReactorShift = 16;
constexpr uint64_t kLeftMask = (uint64_t{1} << kReactorShift) - 1;
static_assert(ClientPlaces::kKeptRequests <= kLeftMask);

}  // namespace

bool ClientPlaces::IsToBeKept(uint32_t client, uint16_t reactor) {
  if (client == 0) {
    return false;
  }
  std::atomic<uint64_t>& slot = slots_[client % kSlots].seen;
  const uint64_t here = uint64_t{client} << kClientShift | uint64_t{reactor} << kReactorShift;
  const uint64_t seen = slot.load(std::memory_order_relaxed);
  uint64_t left = 0;
  if (seen >> kReactorShift == here >> kReactorShift) {
    left = seen & kLeftMask;
    left -= left > 0 ? 1 : 0;
  } else if (seen >> kClientShift == client) {
    left = kKeptRequests;
  }
  if (seen != (here | left)) {
    slot.store(here | left, std::memory_order_relaxed);
  }
  return left > 0;
}

}  // namespace varve
