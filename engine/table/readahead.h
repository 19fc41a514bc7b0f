// Readahead: data blocks that lie one behind the other are read together.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "engine/device/aligned_buffer.h"
#include "engine/table/table_view.h"

namespace varve {

// Belongs to one iterator. Knows the walk only by the blocks that had to be read for it.
class Readahead {
 public:
  // Reads grow from one block to `bytes_max` while the walk goes on; with `sequential` they are that large
  // from the start. The first covers `first_bytes`, and none that follows it less.
  Readahead(uint32_t bytes_max, bool sequential, uint32_t first_bytes = 0)
      : bytes_max_(bytes_max), sequential_(sequential), first_bytes_(first_bytes) {}

  // The walk was set to another place, or turns: unless it is where the last read ended, it begins anew.
  void Jump() { has_jumped_ = true; }
  // How many bytes, from the start of `block` on, the next read should cover at most; 0: just the block.
  uint64_t PlanBytes(const BlockHandle& block);
  // Whether the plan is for a walk that has read before.
  bool goes_on() const { return sequential_ || reads_ > 1; }
  // Where that read will end.
  void SetNextExpected(uint64_t table_offset) { expected_offset_ = table_offset; }

  // The window: bytes of the table from `table_offset` on.
  void Fill(AlignedBuffer bytes, uint64_t table_offset) {
    window_ = std::move(bytes);
    window_offset_ = table_offset;
  }
  // The block's bytes, if the window holds them all; else empty.
  std::string_view Find(const BlockHandle& block) const;

 private:
  uint32_t bytes_max_;
  bool sequential_;
  uint32_t first_bytes_;
  uint64_t grown_bytes_ = 0;
  uint64_t expected_offset_ = UINT64_MAX;
  bool has_jumped_ = true;
  // Since the walk began.
  uint32_t reads_ = 0;
  AlignedBuffer window_;
  uint64_t window_offset_ = 0;
};

}  // namespace varve
