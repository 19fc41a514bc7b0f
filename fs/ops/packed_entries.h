// PackedEntries: what a listing showed of each entry, one after another, ready to be shown again.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "fs/ops/filesystem.h"

namespace varve {

// One caller at a time. An entry takes 24 bytes and its name.
class PackedEntries {
 public:
  static constexpr size_t kHeadBytes = 24;

  bool empty() const { return bytes_.empty(); }
  // Where the next entry will lie. Places are byte positions; that of the first entry is 0.
  size_t end() const { return bytes_.size(); }
  size_t capacity() const { return bytes_.capacity(); }
  void Reserve(size_t bytes) { bytes_.reserve(bytes); }
  void Shrink() { bytes_.shrink_to_fit(); }
  // Gives the memory back as well.
  void Free() { bytes_ = std::string(); }
  void Clear() { bytes_.clear(); }

  void Append(const DirectoryEntry& entry) {
    const Head head = {entry.inode, entry.next_offset, static_cast<uint16_t>(entry.mode & S_IFMT),
                       static_cast<uint16_t>(entry.name.size())};
    char head_bytes[sizeof(head)];
    std::memcpy(head_bytes, &head, sizeof(head));
    bytes_.append(head_bytes, sizeof(head));
    bytes_.append(entry.name);
  }
  // The entry at `place`, which becomes the place of the next one. Its name is valid until the next change.
  // Precondition: place < end().
  DirectoryEntry Read(size_t& place) const {
    Head head;
    std::memcpy(&head, bytes_.data() + place, sizeof(head));
    DirectoryEntry entry;
    entry.name = std::string_view(bytes_).substr(place + sizeof(head), head.name_bytes);
    entry.inode = head.inode;
    entry.mode = head.type;
    entry.next_offset = head.next_offset;
    place += sizeof(head) + head.name_bytes;
    return entry;
  }

 private:
  struct Head {
    InodeNumber inode;
    uint64_t next_offset = 0;
    uint16_t type = 0;  // S_IFMT bits
    uint16_t name_bytes = 0;
  };
  static_assert(sizeof(Head) == kHeadBytes);

  std::string bytes_;
};

}  // namespace varve
