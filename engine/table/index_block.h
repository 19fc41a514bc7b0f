// Index blocks: entries that name blocks by the range of user keys in them. The lowest level names data
// blocks; higher levels name index blocks; the root lies in the segment footer. Entries of one block are
// sorted and disjoint.
//
//   varint prefix bytes, prefix: what every largest key of the block starts with
//   entry: varint largest rest, bytes; varint shared (of the smallest key with the whole largest key), varint
//   smallest
//          rest, bytes; varint table offset, varint bytes (+ 2^32: a span), varint birth, fixed32 checksum,
//          varint entries below, and up to the next entry, an outline (engine/table/outline.h) or nothing
//   end:   fixed32 offset of each entry, fixed32 their number
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/table/table_view.h"

namespace varve {

struct IndexEntry {
  // User keys between which all of the block's lie, these two included.
  std::string smallest;
  std::string largest;
  BlockHandle block;
  // Key versions in the block, or in all data blocks below it; of a span, those between its keys.
  uint64_t entries = 0;
  // The data block holds keys outside of [smallest, largest] too: they are dead, or other spans name them.
  bool is_span = false;
  // Of a data block without spans; empty: there is none.
  std::string outline = {};

  bool operator==(const IndexEntry&) const = default;
};

// Precondition: not empty, sorted.
std::string EncodeIndexBlock(const std::vector<IndexEntry>& entries);
// An upper bound of what an entry takes.
size_t IndexEntryBytesMax(const IndexEntry& entry);

// An index block in memory. Cheap to make; the payload must outlive it. The payload may be anything: each
// call checks what it touches.
class IndexBlock {
 public:
  // An entry without copies of its keys.
  struct Entry {
    std::string_view largest_rest;
    size_t shared = 0;
    std::string_view smallest_rest;
    BlockHandle block;
    uint64_t entries = 0;
    bool is_span = false;
    std::string_view outline = {};
  };

  IndexBlock() = default;
  // nullopt when the frame (prefix, number of entries, their offsets' place) does not fit the payload.
  static std::optional<IndexBlock> Parse(std::string_view payload);

  uint32_t size() const { return count_; }
  // The first entry whose largest key is at or after `user_key`; size() when there is none; nullopt: corrupt.
  std::optional<uint32_t> LowerBound(std::string_view user_key) const;
  // nullopt: corrupt. Precondition: i < size().
  std::optional<Entry> At(uint32_t i) const;
  // Whether an entry's smallest key is after `user_key`: then no block of this index holds it.
  bool StartsAfter(const Entry& entry, std::string_view user_key) const;
  IndexEntry Copy(const Entry& entry) const;

 private:
  void PrefetchEntry(uint32_t i) const;
  // Where an entry ends: at the next one.
  size_t EndOf(uint32_t i) const;
  // The entry whose largest key ends with `rest`, where so many entries lie before it as the number there
  // exceeds the first one's; nullopt says nothing.
  std::optional<uint32_t> CountedTo(std::string_view rest) const;
  // What binary search compares.
  std::optional<std::string_view> LargestRestAt(uint32_t i) const;

  std::string_view prefix_;
  std::string_view entries_;
  const char* offsets_ = nullptr;
  uint32_t count_ = 0;
};

}  // namespace varve
