// PassingRead: one long read of a table's bytes, for blocks that are used and dropped, in pieces that the
// device has side by side: the walk checks and takes the blocks of one piece while the next are on their way.
//
// Threads: any. A piece is read on the executor that began it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/base/units.h"
#include "engine/cache/read_run.h"
#include "engine/device/block_device.h"
#include "engine/ring/async_event.h"
#include "engine/table/table_view.h"

namespace varve {

class PassingRead {
 public:
  static constexpr uint64_t kPieceBytes = 256 * kKiB;

  // Of the table's bytes from `start` on, as many as `memory` has, which `runs` says where they lie.
  PassingRead(uint64_t start, const std::vector<DevicePiece>& runs, ReadRun memory);
  PassingRead(const PassingRead&) = delete;
  PassingRead& operator=(const PassingRead&) = delete;

  // Where in memory() the block lies, if it holds all of it.
  std::optional<uint64_t> Find(const BlockHandle& block) const;
  // Of bytes at [at, at + bytes) of memory(): whether all pieces that hold them have ended, and what the
  // first of these that failed says.
  bool HasEnded(uint64_t at, uint64_t bytes) const;
  Status StatusOf(uint64_t at, uint64_t bytes) const;
  Task<void> Wait(uint64_t at, uint64_t bytes);
  const ReadRun& memory() const { return memory_; }
  // The table offset behind it.
  uint64_t end() const { return start_ + memory_.view().size(); }

  size_t pieces() const { return pieces_.size(); }
  // Reads piece `i`. Once for each.
  Task<void> ReadPiece(BlockDevice& device, size_t i, IoPurpose purpose);

 private:
  struct Piece {
    // In memory_.
    uint64_t begin = 0;
    uint64_t end = 0;
    DeviceOffset offset;
    Status status;
    AsyncEvent ended;
  };
  // The first piece that ends behind `at`.
  size_t PieceAt(uint64_t at) const;

  const uint64_t start_;
  ReadRun memory_;
  std::vector<std::unique_ptr<Piece>> pieces_;
};

}  // namespace varve
