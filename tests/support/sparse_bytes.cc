#include "tests/support/sparse_bytes.h"

#include <algorithm>
#include <cstring>

namespace varve {

SparseBytes::Piece& SparseBytes::Own(uint64_t offset) {
  std::shared_ptr<Piece>& piece = pieces_[offset / kPieceBytes];
  if (piece == nullptr) {
    piece = std::make_shared<Piece>();
  } else if (piece.use_count() > 1) {
    piece = std::make_shared<Piece>(*piece);
  }
  return *piece;
}

bool SparseBytes::operator==(const SparseBytes& other) const {
  return std::equal(pieces_.begin(), pieces_.end(), other.pieces_.begin(), other.pieces_.end(),
                    [](const std::shared_ptr<Piece>& a, const std::shared_ptr<Piece>& b) {
                      return a == b || (a != nullptr && b != nullptr && *a == *b);
                    });
}

void SparseBytes::Read(uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const std::shared_ptr<Piece>& piece = pieces_[offset / kPieceBytes];
    const size_t at = offset % kPieceBytes;
    const size_t count = std::min(into.size(), kPieceBytes - at);
    if (piece == nullptr) {
      std::memset(into.data(), 0, count);
    } else {
      std::memcpy(into.data(), piece->data() + at, count);
    }
    into = into.subspan(count);
    offset += count;
  }
}

void SparseBytes::Write(uint64_t offset, std::span<const std::byte> from) {
  while (!from.empty()) {
    const size_t at = offset % kPieceBytes;
    const size_t count = std::min(from.size(), kPieceBytes - at);
    std::memcpy(Own(offset).data() + at, from.data(), count);
    from = from.subspan(count);
    offset += count;
  }
}

void SparseBytes::Fill(uint64_t offset, uint64_t bytes, std::byte with) {
  while (bytes > 0) {
    const size_t at = offset % kPieceBytes;
    const auto count = static_cast<size_t>(std::min<uint64_t>(bytes, kPieceBytes - at));
    std::memset(Own(offset).data() + at, static_cast<int>(with), count);
    bytes -= count;
    offset += count;
  }
}

}  // namespace varve
