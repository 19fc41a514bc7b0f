// FaultPlan: what goes wrong in one round of a simulation, and how the round ends.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/prng.h"
#include "tests/sim/sim_device.h"

namespace varve::sim {

enum class Ending : uint8_t { kClose, kPowerOff, kKill };

struct FaultPlan {
  DeviceFaults device;
  // Once the clients are done, if the round lasts that long.
  Ending ending = Ending::kClose;
  uint64_t operations = 0;  // of each client
};

// Lies are drawn only where `may_lie`: after them nothing can be promised any more.
FaultPlan DrawFaults(Prng& random, bool may_lie);
std::string Describe(const FaultPlan& plan);

}  // namespace varve::sim
