#include "tests/sim/fault_plan.h"

#include <fmt/core.h>

namespace varve::sim {

namespace {

// Small numbers are as likely as large ones: a crash in the middle of opening as one late in a round.
uint64_t DrawMagnitude(Prng& random, uint64_t bits) {
  return random.Below(uint64_t{1} << (1 + random.Below(bits)));
}

}  // namespace

FaultPlan DrawFaults(Prng& random, bool may_lie) {
  FaultPlan plan;
  plan.operations = 20 + DrawMagnitude(random, 9);
  plan.ending = random.OneIn(4) ? Ending::kClose : random.OneIn(3) ? Ending::kKill : Ending::kPowerOff;
  DeviceFaults& device = plan.device;
  if (!random.OneIn(4)) {
    device.power_off_after = DrawMagnitude(random, 11);
    device.kill_only = random.OneIn(3);
  }
  if (random.OneIn(2)) {
    device.latency_nanos_max = uint64_t{100} << random.Below(14);
    device.slow = random.OneIn(3) ? 20 : 0;
  }
  if (random.OneIn(6)) {
    device.read_errors = 20 + DrawMagnitude(random, 10);
  }
  if (random.OneIn(8)) {
    device.write_errors = 20 + DrawMagnitude(random, 10);
  }
  if (random.OneIn(8)) {
    device.flush_errors = 3 + DrawMagnitude(random, 6);
  }
  if (may_lie && random.OneIn(2)) {
    const uint64_t kind = random.Below(3);
    const uint64_t one_in = 10 + DrawMagnitude(random, 8);
    (kind == 0 ? device.lost_writes : kind == 1 ? device.misdirected_writes : device.rotten_reads) = one_in;
  }
  return plan;
}

std::string Describe(const FaultPlan& plan) {
  const DeviceFaults& device = plan.device;
  std::string text = fmt::format("{} operations", plan.operations);
  if (device.power_off_after) {
    text += fmt::format(", {} after {} of the device", device.kill_only ? "kill" : "power off",
                        *device.power_off_after);
  }
  const auto add = [&](const char* what, uint64_t one_in) {
    if (one_in != 0) {
      text += fmt::format(", {} 1/{}", what, one_in);
    }
  };
  add("read errors", device.read_errors);
  add("write errors", device.write_errors);
  add("flush errors", device.flush_errors);
  add("lost writes", device.lost_writes);
  add("misdirected writes", device.misdirected_writes);
  add("rotten reads", device.rotten_reads);
  return text;
}

}  // namespace varve::sim
