// Readahead: data blocks that lie one behind the other are read together.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "engine/cache/read_run.h"
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
  void Fill(ReadRun window, uint64_t table_offset) {
    window_ = std::move(window);
    window_offset_ = table_offset;
  }
  // Where in the window the block lies, if it holds all of it.
  std::optional<uint64_t> Find(const BlockHandle& block) const;
  const ReadRun& window() const { return window_; }

 private:
  uint32_t bytes_max_;
  bool sequential_;
  uint32_t first_bytes_;
  uint64_t grown_bytes_ = 0;
  uint64_t expected_offset_ = UINT64_MAX;
  bool has_jumped_ = true;
  // Since the walk began.
  uint32_t reads_ = 0;
  ReadRun window_;
  uint64_t window_offset_ = 0;
};

}  // namespace varve
