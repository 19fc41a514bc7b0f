// Numbers that must not be mixed up get types of their own; sizes say their unit in their name.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace varve {

inline constexpr uint64_t kKiB = 1024;
inline constexpr uint64_t kMiB = 1024 * kKiB;
inline constexpr uint64_t kGiB = 1024 * kMiB;
inline constexpr uint64_t kTiB = 1024 * kGiB;

// A 64-bit number of one kind. Only numbers of the same kind compare; arithmetic goes through `value`.
template <typename Tag>
struct StrongNumber {
  uint64_t value = 0;

  constexpr StrongNumber() = default;
  constexpr explicit StrongNumber(uint64_t v) : value(v) {}
  constexpr auto operator<=>(const StrongNumber&) const = default;
  constexpr StrongNumber Next() const { return StrongNumber(value + 1); }
};

// Position of a write in the order of all writes. 56 bits: it shares a word with the record kind.
using SequenceNumber = StrongNumber<struct SequenceNumberTag>;
inline constexpr SequenceNumber kSequenceNumberMax{(uint64_t{1} << 56) - 1};

// Identity of a table for ever: never reused within a store.
using TableId = StrongNumber<struct TableIdTag>;
// How often a table was appended to; a (TableId, Generation) pair names an immutable view.
using Generation = StrongNumber<struct GenerationTag>;
// Position in the order of installs: L0, SST-Log and compaction buffer are ordered by it.
using InstallStamp = StrongNumber<struct InstallStampTag>;
// Log sequence number: position of a commit group in the write-ahead log.
using Lsn = StrongNumber<struct LsnTag>;
// A period between two recoveries; remnants of an older epoch are never replayed.
using RecoveryEpoch = StrongNumber<struct RecoveryEpochTag>;
// A byte position on a block device.
using DeviceOffset = StrongNumber<struct DeviceOffsetTag>;

constexpr DeviceOffset operator+(DeviceOffset offset, uint64_t bytes) {
  return DeviceOffset(offset.value + bytes);
}

constexpr uint64_t RoundUp(uint64_t n, uint64_t grain) {
  return (n + grain - 1) / grain * grain;
}
constexpr uint64_t RoundDown(uint64_t n, uint64_t grain) {
  return n / grain * grain;
}
constexpr uint64_t CeilDiv(uint64_t n, uint64_t d) {
  return (n + d - 1) / d;
}
// A share or a mean of counts; of nothing it is as of one.
constexpr double ShareOf(uint64_t part, uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole > 0 ? whole : 1);
}

}  // namespace varve

template <typename Tag>
struct std::hash<varve::StrongNumber<Tag>> {
  size_t operator()(varve::StrongNumber<Tag> n) const noexcept { return std::hash<uint64_t>()(n.value); }
};
