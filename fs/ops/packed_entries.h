// PackedEntries: what a listing showed of each entry, one after another, ready to be shown again.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/units.h"
#include "fs/ops/filesystem.h"

namespace varve {

// One caller at a time. An entry takes 18 bytes and its name.
class PackedEntries {
 public:
  static constexpr size_t kHeadBytes = 18;

  // In front of an entry, or behind the last.
  struct Place {
    uint32_t chunk = 0;
    uint32_t byte = 0;

    bool operator==(const Place&) const = default;
  };

  static size_t BytesOf(const DirectoryEntry& entry) { return kHeadBytes + entry.name.size(); }

  Place end() const {
    return chunks_.empty() ? Place{} : Place{static_cast<uint32_t>(chunks_.size()) - 1, chunks_.back().used};
  }
  size_t memory_bytes() const { return memory_bytes_; }
  void Clear() {
    chunks_.clear();
    memory_bytes_ = 0;
  }

  // Where the entry lies now.
  Place Append(const DirectoryEntry& entry) {
    const size_t needed = BytesOf(entry);
    if (chunks_.empty() || chunks_.back().bytes - chunks_.back().used < needed) {
      AddChunk();
    }
    Chunk& chunk = chunks_.back();
    const Place place = {static_cast<uint32_t>(chunks_.size()) - 1, chunk.used};
    char* into = chunk.memory.get() + chunk.used;
    std::memcpy(into, &entry.inode.value, sizeof(entry.inode.value));
    std::memcpy(into + 8, &entry.next_offset, sizeof(entry.next_offset));
    into[16] = static_cast<char>((entry.mode & S_IFMT) >> kTypeShift);
    into[17] = static_cast<char>(entry.name.size());
    std::memcpy(into + kHeadBytes, entry.name.data(), entry.name.size());
    chunk.used += static_cast<uint32_t>(needed);
    return place;
  }
  // The entry at `place`, which becomes the place of the next one. Its name is valid until the next change.
  // Precondition: place != end().
  DirectoryEntry Read(Place& place) const {
    const char* from = chunks_[place.chunk].memory.get() + place.byte;
    DirectoryEntry entry;
    std::memcpy(&entry.inode.value, from, sizeof(entry.inode.value));
    std::memcpy(&entry.next_offset, from + 8, sizeof(entry.next_offset));
    entry.mode = static_cast<uint32_t>(static_cast<uint8_t>(from[16])) << kTypeShift;
    entry.name = std::string_view(from + kHeadBytes, static_cast<uint8_t>(from[17]));
    place.byte += static_cast<uint32_t>(BytesOf(entry));
    if (place.byte == chunks_[place.chunk].used && place.chunk + 1 != chunks_.size()) {
      place = {place.chunk + 1, 0};
    }
    return entry;
  }
  // There will be no more entries: gives back the memory for them.
  void Shrink() {
    if (!chunks_.empty()) {
      Chunk& last = chunks_.back();
      auto memory = std::make_unique_for_overwrite<char[]>(last.used);
      std::memcpy(memory.get(), last.memory.get(), last.used);
      last.memory = std::move(memory);
      memory_bytes_ -= last.bytes - last.used;
      last.bytes = last.used;
      chunks_.shrink_to_fit();
    }
  }

 private:
  // The first, for the many directories of a few names, and from the last of their doublings on each: less
  // than what malloc gets from the system each time, and gives back.
  static constexpr uint32_t kFirstChunkBytes = kKiB;
  static constexpr uint32_t kChunkBytesMax = 32 * kKiB;
  static constexpr int kTypeShift = 12;
  static_assert(kHeadBytes + kNameBytesMax <= kFirstChunkBytes && kNameBytesMax <= UINT8_MAX &&
                (S_IFMT >> kTypeShift) <= UINT8_MAX);

  struct Chunk {
    std::unique_ptr<char[]> memory;
    uint32_t bytes = 0;
    uint32_t used = 0;
  };

  void AddChunk() {
    const uint32_t bytes =
        chunks_.empty() ? kFirstChunkBytes : std::min(2 * chunks_.back().bytes, kChunkBytesMax);
    chunks_.push_back({std::make_unique_for_overwrite<char[]>(bytes), bytes, 0});
    memory_bytes_ += bytes;
  }

  std::vector<Chunk> chunks_;
  size_t memory_bytes_ = 0;
};

}  // namespace varve
