#include "tests/sim/sim_device.h"

#include <algorithm>
#include <utility>

#include "engine/ring/executor.h"

namespace varve::sim {

namespace {

constexpr std::byte kDiscarded{0xdc};
constexpr size_t kOffsetsKept = 256;
constexpr uint64_t kSlowFactor = 200;

}  // namespace

SimDevice::SimDevice(const SimDeviceOptions& options, Trace& trace)
    : BlockDevice("simulated", options.size_bytes, options.sector_bytes),
      trace_(trace),
      random_(options.seed),
      current_(options.size_bytes),
      durable_(options.size_bytes) {
}

bool SimDevice::Begins() {
  if (off_) {
    return false;
  }
  ++operations_;
  if (faults_.power_off_after) {
    if (*faults_.power_off_after == 0) {
      if (faults_.kill_only) {
        Kill();
      } else {
        PowerOff();
      }
      return false;
    }
    --*faults_.power_off_after;
  }
  return true;
}

Task<void> SimDevice::Delay() {
  if (faults_.latency_nanos_max == 0) {
    co_await Executor::Current().Yield();
    co_return;
  }
  uint64_t nanos = random_.Below(faults_.latency_nanos_max);
  if (Strikes(faults_.slow)) {
    nanos *= kSlowFactor;
  }
  co_await Executor::Current().Sleep(nanos);
}

Status SimDevice::Failed(std::string_view operation, uint64_t offset) {
  if (off_) {
    return DeviceError(fmt::format("{}: {} at offset {}: the device is off", name(), operation, offset));
  }
  ++errors_;
  trace_.Add("device: {} at {} fails", operation, offset);
  return DeviceError(fmt::format("{}: {} at offset {}: injected error", name(), operation, offset));
}

void SimDevice::Apply(SparseBytes& to, const Written& write) const {
  if (write.data.empty()) {
    to.Fill(write.offset, write.discarded_bytes, kDiscarded);
  } else {
    to.Write(write.offset, write.data);
  }
}

SimDevice::Fate SimDevice::DrawFate() {
  const uint64_t dice = random_.Below(16);
  return dice < lost_share_ ? Fate::kLost : dice < lost_share_ + torn_share_ ? Fate::kTorn : Fate::kWhole;
}

void SimDevice::ApplyFate(SparseBytes& to, const Written& write) {
  const Fate fate = DrawFate();
  if (fate == Fate::kWhole) {
    Apply(to, write);
  }
  if (fate != Fate::kTorn) {
    return;
  }
  const uint64_t sectors = write.bytes() / sector_bytes();
  // A part from the front, a part from the back, or sectors here and there.
  const uint64_t kind = random_.Below(3);
  const uint64_t cut = random_.Below(sectors + 1);
  for (uint64_t i = 0; i < sectors; ++i) {
    const bool survives = kind == 0 ? i < cut : kind == 1 ? i >= cut : random_.OneIn(2);
    if (!survives) {
      continue;
    }
    const uint64_t at = i * sector_bytes();
    if (write.data.empty()) {
      to.Fill(write.offset + at, sector_bytes(), kDiscarded);
    } else {
      to.Write(write.offset + at, std::span(write.data).subspan(at, sector_bytes()));
    }
  }
}

void SimDevice::SettleCached(uint64_t completed, bool fate) {
  size_t count = 0;
  for (; count < cached_.size() && cached_[count].completed < completed; ++count) {
    if (fate && !cached_[count].durable) {
      ApplyFate(durable_, cached_[count]);
    } else {
      Apply(durable_, cached_[count]);
    }
  }
  cached_.erase(cached_.begin(), cached_.begin() + static_cast<std::ptrdiff_t>(count));
}

void SimDevice::LoseCached(uint64_t completed) {
  lost_share_ = random_.Below(17);
  torn_share_ = random_.Below(17 - lost_share_);
  SettleCached(completed, true);
}

void SimDevice::Complete(Written write) {
  Apply(current_, write);
  write.completed = completed_++;
  cached_.push_back(std::move(write));
  DropDurable();
}

void SimDevice::DropDurable() {
  size_t count = 0;
  while (count < cached_.size() && cached_[count].durable) {
    Apply(durable_, cached_[count++]);
  }
  cached_.erase(cached_.begin(), cached_.begin() + static_cast<std::ptrdiff_t>(count));
}

void SimDevice::LandUnderWay(bool in_cache) {
  std::vector<uint64_t> numbers;
  for (const auto& [number, write] : under_way_) {
    numbers.push_back(number);
  }
  while (!numbers.empty()) {
    const size_t at = random_.Below(numbers.size());
    Written& write = under_way_[numbers[at]];
    // Not acknowledged: nobody may count on it, durable or not.
    write.durable = false;
    if (in_cache) {
      if (random_.OneIn(2)) {
        Complete(std::move(write));
      }
    } else {
      ApplyFate(durable_, write);
    }
    numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(at));
  }
  under_way_.clear();
}

void SimDevice::PowerOff() {
  off_ = true;
  const uint64_t policy = random_.Below(8);
  lost_share_ = policy == 0 ? 16 : policy == 1 ? 0 : random_.Below(17);
  torn_share_ = policy <= 1 ? 0 : random_.Below(17 - lost_share_);
  trace_.Add("device: power off at operation {}: {} writes cached, {} under way; lost {}/16, torn {}/16",
             operations_, cached_.size(), under_way_.size(), lost_share_, torn_share_);
  SettleCached(completed_, true);
  LandUnderWay(false);
  current_ = durable_;
}

void SimDevice::Kill() {
  off_ = true;
  trace_.Add("device: the process is killed at operation {}, {} writes under way", operations_,
             under_way_.size());
  LandUnderWay(true);
}

void SimDevice::PowerOn() {
  Check(under_way_.empty(), "the device is switched on while operations are under way");
  off_ = false;
  faults_ = {};
  errors_at_power_on_ = errors_;
  ForgetFailedFlush();
}

void SimDevice::Rot() {
  if (written_offsets_.empty()) {
    return;
  }
  const uint64_t offset = written_offsets_[random_.Below(written_offsets_.size())];
  const uint64_t at = offset + random_.Below(sector_bytes());
  std::byte byte{};
  current_.Read(at, std::span(&byte, 1));
  byte ^= std::byte(1u << random_.Below(8));
  current_.Write(at, std::span(&byte, 1));
  durable_.Write(at, std::span(&byte, 1));
  ++lies_;
  trace_.Add("device: a bit rots at {}", at);
}

std::optional<uint64_t> SimDevice::AstrayOffset(uint64_t bytes) {
  if (!Strikes(faults_.misdirected_writes) || written_offsets_.empty()) {
    return std::nullopt;
  }
  const uint64_t astray = written_offsets_[random_.Below(written_offsets_.size())];
  return std::min(astray, size_bytes() - bytes);
}

Task<Status> SimDevice::DoRead(DeviceOffset offset, std::span<std::byte> into) {
  if (!Begins()) {
    co_return Failed("read", offset.value);
  }
  co_await Delay();
  if (off_ || Strikes(faults_.read_errors)) {
    co_return Failed("read", offset.value);
  }
  current_.Read(offset.value, into);
  if (Strikes(faults_.rotten_reads)) {
    ++lies_;
    trace_.Add("device: {} bytes at {} are read with one bit wrong", into.size(), offset.value);
    into[random_.Below(into.size())] ^= std::byte(1u << random_.Below(8));
  }
  co_return OkStatus();
}

Task<Status> SimDevice::DoWrite(DeviceOffset offset, std::span<const std::byte> from,
                                Persistence persistence) {
  if (!Begins()) {
    co_return Failed("write", offset.value);
  }
  const uint64_t number = next_number_++;
  const bool is_durable = persistence == Persistence::kDurable;
  under_way_[number] = {offset.value, {from.begin(), from.end()}, 0, is_durable};
  co_await Delay();
  if (off_) {
    co_return Failed("write", offset.value);
  }
  Written write = std::move(under_way_.extract(number).mapped());
  if (!std::equal(from.begin(), from.end(), write.data.begin())) {
    trace_.Fail("the bytes of a write at {} changed while it was under way", offset.value);
  }
  if (Strikes(faults_.write_errors)) {
    lost_share_ = 8;
    torn_share_ = 8;
    ApplyFate(current_, write);
    current_.Read(write.offset, write.data);
    durable_.Write(write.offset, write.data);
    if (is_durable) {
      LoseCached(completed_);
    }
    co_return Failed("write", offset.value);
  }
  trace_.Add("device: write {}+{}{}", offset.value, from.size(), is_durable ? " durable" : "");
  if (Strikes(faults_.lost_writes)) {
    ++lies_;
    trace_.Add("device: the write is lost");
    co_return OkStatus();
  }
  if (const std::optional<uint64_t> astray = AstrayOffset(from.size())) {
    ++lies_;
    trace_.Add("device: the write lands at {}", *astray);
    write.offset = *astray;
  }
  if (written_offsets_.size() < kOffsetsKept) {
    written_offsets_.push_back(write.offset);
  } else {
    written_offsets_[random_.Below(kOffsetsKept)] = write.offset;
  }
  Complete(std::move(write));
  co_return OkStatus();
}

Task<Status> SimDevice::DoFlush() {
  if (!Begins()) {
    co_return Failed("flush", 0);
  }
  // Only what has completed before it began is promised.
  const uint64_t covered = completed_;
  co_await Delay();
  if (off_) {
    co_return Failed("flush", 0);
  }
  if (Strikes(faults_.flush_errors)) {
    LoseCached(covered);
    co_return Failed("flush", 0);
  }
  trace_.Add("device: flush");
  SettleCached(covered, false);
  co_return OkStatus();
}

Task<Status> SimDevice::DoDiscard(DeviceOffset offset, uint64_t bytes) {
  if (!Begins()) {
    co_return Failed("discard", offset.value);
  }
  const uint64_t number = next_number_++;
  under_way_[number] = {offset.value, {}, bytes, false};
  co_await Delay();
  if (off_) {
    co_return Failed("discard", offset.value);
  }
  Written write = std::move(under_way_.extract(number).mapped());
  if (Strikes(faults_.write_errors)) {
    co_return Failed("discard", offset.value);
  }
  trace_.Add("device: discard {}+{}", offset.value, bytes);
  Complete(std::move(write));
  co_return OkStatus();
}

}  // namespace varve::sim
