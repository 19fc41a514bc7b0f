// SimDevice: a block device with a volatile cache and every kind of bad luck, all drawn from one seed. Runs
// on one executor.
//
// What survives a loss of power: everything that was flushed or written durably; of the rest, writes under
// way included, any subset, torn at sector grain. Killing the process loses nothing but what was not yet
// written.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/prng.h"
#include "engine/device/block_device.h"
#include "tests/sim/trace.h"
#include "tests/support/sparse_bytes.h"

namespace varve::sim {

// Rates are "one in so many operations"; 0: never.
struct DeviceFaults {
  // The power goes when this many more operations have begun.
  std::optional<uint64_t> power_off_after = std::nullopt;
  // Instead of the power, only the process is gone then.
  bool kill_only = false;
  // Errors: a failed write may have changed some of its sectors; what a failed flush should have made durable
  // may be lost even if a later flush succeeds.
  uint64_t read_errors = 0;
  uint64_t write_errors = 0;
  uint64_t flush_errors = 0;
  // Lies. Nobody can promise durability under these, only that no wrong answer is given.
  uint64_t lost_writes = 0;
  uint64_t misdirected_writes = 0;
  uint64_t rotten_reads = 0;  // one bit of what is read is wrong, this time
  // Each operation takes up to this long; one in `slow` takes 200 times as long.
  uint64_t latency_nanos_max = 0;
  uint64_t slow = 0;

  bool lies() const { return lost_writes != 0 || misdirected_writes != 0 || rotten_reads != 0; }
};

struct SimDeviceOptions {
  uint64_t size_bytes = 96 * kMiB;
  uint32_t sector_bytes = 512;
  uint64_t seed = 0;
};

class SimDevice final : public BlockDevice {
 public:
  // `trace` must outlive this.
  SimDevice(const SimDeviceOptions& options, Trace& trace);

  // Replaces all plans; counting begins anew.
  void Plan(const DeviceFaults& faults) { faults_ = faults; }
  // From now on every operation fails. What survives is decided here.
  void PowerOff();
  void Kill();
  // Works again, on what has survived; no faults are planned. Precondition: no operation is under way.
  void PowerOn();
  bool off() const { return off_; }

  // Inverts one bit of something that was written once. Precondition: off, or nothing under way.
  void Rot();

  // Errors and lies so far.
  uint64_t errors() const { return errors_; }
  uint64_t lies() const { return lies_; }
  // Something has happened that explains an error: since it was switched on, or, if it lied, ever.
  bool disturbed() const { return off_ || lies_ > 0 || errors_ > errors_at_power_on_; }
  uint64_t operations() const { return operations_; }

 private:
  struct Written {
    uint64_t offset = 0;
    std::vector<std::byte> data;   // empty: a discard
    uint64_t discarded_bytes = 0;  // of a discard
    bool durable = false;
    uint64_t completed = 0;  // its place among all completed writes

    uint64_t bytes() const { return data.empty() ? discarded_bytes : data.size(); }
  };
  enum class Fate { kLost, kWhole, kTorn };

  Task<Status> DoRead(DeviceOffset offset, std::span<std::byte> into) override;
  Task<Status> DoWrite(DeviceOffset offset, std::span<const std::byte> from,
                       Persistence persistence) override;
  Task<Status> DoFlush() override;
  Task<Status> DoDiscard(DeviceOffset offset, uint64_t bytes) override;

  // Counts the operation; false: the device is off.
  bool Begins();
  Task<void> Delay();
  bool Strikes(uint64_t one_in) { return one_in != 0 && random_.OneIn(one_in); }
  Status Failed(std::string_view operation, uint64_t offset);
  // Where a write lands: engaged only for one that goes astray.
  std::optional<uint64_t> AstrayOffset(uint64_t bytes);

  void Apply(SparseBytes& to, const Written& write) const;
  void ApplyFate(SparseBytes& to, const Written& write);
  Fate DrawFate();
  // What was cached before the `completed`-th write is durable, or (with `fate`) meets its fate.
  void SettleCached(uint64_t completed, bool fate);
  // A failed flush: readable still, but of what was cached some will be gone when the power is.
  void LoseCached(uint64_t completed);
  void Complete(Written write);
  // The prefix of cached_ that is durable anyway is taken off it.
  void DropDurable();
  void LandUnderWay(bool in_cache);

  Trace& trace_;
  Prng random_;
  DeviceFaults faults_;
  SparseBytes current_;
  SparseBytes durable_;
  // Completed, in order; durable_ lacks those of them that are not durable.
  std::vector<Written> cached_;
  // Begun and not completed, by a running number.
  std::map<uint64_t, Written> under_way_;
  uint64_t next_number_ = 0;
  uint64_t completed_ = 0;
  // Where something was written lately: for writes that go astray and for rot.
  std::vector<uint64_t> written_offsets_;
  bool off_ = false;
  // Of this loss of power: how likely a write is lost, and torn, in 16ths.
  uint64_t lost_share_ = 0;
  uint64_t torn_share_ = 0;
  uint64_t operations_ = 0;
  uint64_t errors_ = 0;
  uint64_t errors_at_power_on_ = 0;
  uint64_t lies_ = 0;
};

}  // namespace varve::sim
