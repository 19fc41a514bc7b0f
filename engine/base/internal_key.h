// How a version of a key is named inside the engine: the user's key, then eight bytes (little-endian) that
// hold sequence number << 8 | record kind. Internal keys sort by user key ascending (bytewise), then by
// sequence number descending: the newest version of a key comes first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/check.h"
#include "engine/base/coding.h"
#include "engine/base/units.h"

namespace varve {

// Stored in every format: values never change. Unknown kinds are corruption.
enum class RecordKind : uint8_t {
  kTombstone = 0,
  kValue = 1,
  kRangeTombstone = 2,     // deletes [key, value); in batches and the log only (range_tombstones.h)
  kLargeValuePointer = 3,  // reserved: the value names an extent that holds the user's value
};
inline constexpr uint8_t kRecordKindMax = 3;
// Sorts before every real record of the same user key and sequence number.
inline constexpr RecordKind kSeekKind = static_cast<RecordKind>(0xff);

inline constexpr size_t kTrailerBytes = 8;

inline uint64_t PackTrailer(SequenceNumber sequence, RecordKind kind) {
  return sequence.value << 8 | static_cast<uint8_t>(kind);
}

inline void AppendInternalKey(std::string& to, std::string_view user_key, SequenceNumber sequence,
                              RecordKind kind) {
  to.append(user_key);
  AppendFixed(to, PackTrailer(sequence, kind));
}

// Precondition of the next four: at least kTrailerBytes long. Readers of device bytes check that first.
inline std::string_view UserKeyOf(std::string_view internal_key) {
  return internal_key.substr(0, internal_key.size() - kTrailerBytes);
}
inline uint64_t TrailerOf(std::string_view internal_key) {
  return LoadFixed<uint64_t>(internal_key.data() + internal_key.size() - kTrailerBytes);
}
inline SequenceNumber SequenceOf(std::string_view internal_key) {
  return SequenceNumber(TrailerOf(internal_key) >> 8);
}
inline RecordKind KindOf(std::string_view internal_key) {
  return static_cast<RecordKind>(TrailerOf(internal_key) & 0xff);
}

// Negative, zero or positive as a sorts before, with or after b.
inline int CompareInternalKeys(std::string_view a, std::string_view b) {
  const int by_user_key = UserKeyOf(a).compare(UserKeyOf(b));
  if (by_user_key != 0) {
    return by_user_key;
  }
  const uint64_t trailer_a = TrailerOf(a);
  const uint64_t trailer_b = TrailerOf(b);
  return trailer_a > trailer_b ? -1 : (trailer_a < trailer_b ? 1 : 0);
}

// Behind every version of `user_key`: no record has sequence number 0.
inline void AppendLastKeyOf(std::string& to, std::string_view user_key) {
  AppendInternalKey(to, user_key, SequenceNumber(0), RecordKind::kTombstone);
}
inline std::string LastKeyOf(std::string_view user_key) {
  std::string key;
  key.reserve(user_key.size() + kTrailerBytes);
  AppendLastKeyOf(key, user_key);
  return key;
}

// Where a search for the newest version of `user_key` visible at `snapshot` starts.
inline std::string SeekKey(std::string_view user_key, SequenceNumber snapshot) {
  std::string key;
  key.reserve(user_key.size() + kTrailerBytes);
  AppendInternalKey(key, user_key, snapshot, kSeekKind);
  return key;
}

}  // namespace varve
