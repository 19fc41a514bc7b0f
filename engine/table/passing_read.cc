#include "engine/table/passing_read.h"

#include <algorithm>
#include <utility>

#include "engine/table/block_reader.h"

namespace varve {

PassingRead::PassingRead(uint64_t start, const std::vector<DevicePiece>& runs, ReadRun memory)
    : start_(start), memory_(std::move(memory)) {
  uint64_t at = 0;
  for (const DevicePiece& run : runs) {
    for (uint64_t done = 0; done < run.bytes;) {
      const uint64_t bytes = std::min(kPieceBytes, run.bytes - done);
      auto piece = std::make_unique<Piece>();
      piece->begin = at;
      piece->end = at + bytes;
      piece->offset = run.offset + done;
      pieces_.push_back(std::move(piece));
      done += bytes;
      at += bytes;
    }
  }
}

std::optional<uint64_t> PassingRead::Find(const BlockHandle& block) const {
  return PlaceIn(start_, memory_.view().size(), block);
}

size_t PassingRead::PieceAt(uint64_t at) const {
  const auto piece = std::partition_point(pieces_.begin(), pieces_.end(),
                                          [&](const auto& before) { return before->end <= at; });
  return static_cast<size_t>(piece - pieces_.begin());
}

bool PassingRead::HasEnded(uint64_t at, uint64_t bytes) const {
  for (size_t i = PieceAt(at); i < pieces_.size() && pieces_[i]->begin < at + bytes; ++i) {
    if (!pieces_[i]->ended.IsSet()) {
      return false;
    }
  }
  return true;
}

Status PassingRead::StatusOf(uint64_t at, uint64_t bytes) const {
  for (size_t i = PieceAt(at); i < pieces_.size() && pieces_[i]->begin < at + bytes; ++i) {
    if (!pieces_[i]->status.ok()) {
      return pieces_[i]->status;
    }
  }
  return OkStatus();
}

Task<void> PassingRead::Wait(uint64_t at, uint64_t bytes) {
  for (size_t i = PieceAt(at); i < pieces_.size() && pieces_[i]->begin < at + bytes; ++i) {
    co_await pieces_[i]->ended.Wait();
  }
}

Task<void> PassingRead::ReadPiece(BlockDevice& device, size_t i, IoPurpose purpose) {
  Piece& piece = *pieces_[i];
  piece.status = co_await device.Read(piece.offset,
                                      memory_.span().subspan(piece.begin, piece.end - piece.begin), purpose);
  piece.ended.Set();
}

}  // namespace varve
