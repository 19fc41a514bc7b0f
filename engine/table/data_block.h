// Reading data blocks (layout: block_builder.h). The payload may be anything: every access is checked, and
// what does not fit is reported as corrupt, never followed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/units.h"

namespace varve {

// A data block's payload, taken apart into entries and restart points.
class DataBlock {
 public:
  struct Entry {
    size_t shared = 0;
    // The rest of the user key, and the internal key's trailer behind it.
    std::string_view rest;
    uint64_t trailer = 0;
    std::string_view value;
    // Where the next entry starts.
    uint32_t next = 0;
  };

  DataBlock() = default;
  static std::optional<DataBlock> Parse(std::string_view payload);

  uint32_t restarts() const { return restarts_; }
  // nullopt: corrupt, as for the next.
  std::optional<uint32_t> RestartAt(uint32_t i) const;
  // Precondition: offset < end().
  inline std::optional<Entry> EntryAt(uint32_t offset) const;
  // Before it is read: its first two cache lines.
  void PrefetchEntry(uint32_t offset) const {
    constexpr size_t kCacheLineBytes = 64;
    __builtin_prefetch(entries_.data() + offset);
    __builtin_prefetch(entries_.data() + offset + kCacheLineBytes);
  }
  uint32_t end() const { return static_cast<uint32_t>(entries_.size()); }
  // The last restart point whose key sorts before (user_key, trailer), or 0: a search goes on from there.
  std::optional<uint32_t> RestartBefore(std::string_view user_key, uint64_t trailer) const;

 private:
  std::string_view entries_;
  const char* restart_offsets_ = nullptr;
  uint32_t restarts_ = 0;
};

struct FoundVersion {
  enum class Kind : uint8_t { kAbsent, kFound, kCorrupt };
  Kind kind = Kind::kAbsent;
  uint64_t trailer = 0;
  std::string_view value;
};
// The newest version of `user_key` at or before `snapshot` in a block. Builds no keys.
FoundVersion FindInDataBlock(std::string_view payload, std::string_view user_key, SequenceNumber snapshot);

// Walks the entries of one block. After a move that found the block corrupt, corrupt() is true and Valid()
// false.
class DataBlockCursor {
 public:
  // The payload must outlive the walk.
  void Reset(std::string_view payload);
  // Stands nowhere, until the next Reset.
  void Clear() { valid_ = false; }

  void SeekToFirst();
  void SeekToLast();
  // To the first entry at or after `internal_key`.
  void Seek(std::string_view internal_key);
  // Precondition of the next two: Valid().
  void Next();
  void Prev();

  bool Valid() const { return valid_; }
  bool corrupt() const { return corrupt_; }
  // After a move that left the block at either end: of the entry that it left.
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }

 private:
  // Reads the entry at `offset`, whose predecessor's key is in key_.
  bool ReadAt(uint32_t offset);
  // From restart point i to the last entry that starts before `limit`.
  void WalkToLastBefore(uint32_t restart, uint32_t limit);
  void Fail();

  DataBlock block_;
  bool valid_ = false;
  bool corrupt_ = false;
  uint32_t offset_ = 0;
  uint32_t next_ = 0;
  std::string key_;  // internal
  std::string_view value_;
};

}  // namespace varve
