// SparseBytes: a long row of bytes of which only what was ever written takes memory; the rest is zeros.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/units.h"

namespace varve {

// Copying costs a pointer a piece: copies share pieces until one of them is written. Not thread-safe.
class SparseBytes {
 public:
  explicit SparseBytes(uint64_t bytes) : pieces_(CeilDiv(bytes, kPieceBytes)) {}

  // Preconditions of all: the range lies within.
  void Read(uint64_t offset, std::span<std::byte> into) const;
  void Write(uint64_t offset, std::span<const std::byte> from);
  void Fill(uint64_t offset, uint64_t bytes, std::byte with);

  // The same bytes; a piece of zeros that was written differs from one that never was.
  bool operator==(const SparseBytes& other) const;

 private:
  static constexpr size_t kPieceBytes = 64 * kKiB;
  using Piece = std::array<std::byte, kPieceBytes>;

  // The piece that holds `offset`, this row's own.
  Piece& Own(uint64_t offset);

  std::vector<std::shared_ptr<Piece>> pieces_;
};

}  // namespace varve
