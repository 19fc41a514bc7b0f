#include "fs/ops/check_owners.h"

#include <fmt/core.h>

#include "engine/base/units.h"
#include "fs/ops/find_by_inode.h"

namespace varve {

namespace {

constexpr uint64_t kBeingRemoved = UINT64_MAX;

}  // namespace

void OwnerCheck::AddInode(const Inode& inode) {
  const uint64_t end = inode.chunked ? CeilDiv(inode.size, chunk_bytes_) : 0;
  owners_.push_back({inode.number.value, inode.chunk_count, end, inode.has_xattrs});
}

void OwnerCheck::AddOrphan(const Inode& inode) {
  owners_.push_back({inode.number.value, 0, 0, inode.has_xattrs, kBeingRemoved});
}

void OwnerCheck::AddTruncation(InodeNumber inode, uint64_t stale_end) {
  truncations_.emplace_back(inode.value, stale_end);
}

void OwnerCheck::EndInodes() {
  SortByInode(owners_);
  for (const auto& [inode, stale_end] : truncations_) {
    Owner* owner = FindByInode(owners_, inode);
    if (owner != nullptr) {
      owner->stale_end = stale_end;
      continue;
    }
    report_.Add({InodeNumber(inode), "a truncation is unfinished on a file that does not exist",
                 WhenOwnerless(Mend::kRemoveRecord),
                 std::string(NamespaceKey::Orphan(InodeNumber(inode)).view())});
  }
}

void OwnerCheck::AddChunk(InodeNumber inode, uint64_t index, size_t bytes) {
  Owner* owner = FindByInode(owners_, inode.value);
  if (owner == nullptr) {
    return AddOutOfPlace(inode.value, index, false);
  }
  if (bytes == 0 || bytes > chunk_bytes_) {
    // An empty chunk reads as zeros, which is what a missing one does.
    report_.Add({inode, fmt::format("chunk {} has {} bytes", index, bytes),
                 bytes == 0 ? Mend::kRemoveRecord : Mend::kNothing,
                 std::string(NamespaceKey::Chunk(inode, index).view())});
  }
  if (index < owner->chunk_end) {
    ++owner->chunks_found;
  } else if (index >= owner->stale_end) {
    AddOutOfPlace(inode.value, index, true);
  }
}

void OwnerCheck::AddOutOfPlace(uint64_t inode, uint64_t index, bool has_owner) {
  if (run_.chunks == 0 || run_.inode != inode) {
    ReportRun();
    run_ = {inode, index, index, 0, has_owner};
  }
  run_.last = index;
  ++run_.chunks;
}

void OwnerCheck::ReportRun() {
  if (run_.chunks == 0) {
    return;
  }
  const bool one = run_.chunks == 1;
  const std::string which = one ? fmt::format("chunk {}", run_.first)
                                : fmt::format("{} chunks from {} to {}", run_.chunks, run_.first, run_.last);
  const std::string_view what =
      run_.has_owner ? (one ? "lies beyond the end of the file" : "lie beyond the end of the file")
                     : (one ? "belongs to no file" : "belong to no file");
  report_.Add(run_.inode, fmt::format("{} {}", which, what),
              run_.has_owner ? Mend::kRemoveChunks : WhenOwnerless(Mend::kRemoveChunks), run_.first,
              run_.last + 1);
  run_.chunks = 0;
}

void OwnerCheck::AddXattr(InodeNumber inode, std::string_view key) {
  Owner* owner = FindByInode(owners_, inode.value);
  if (owner == nullptr) {
    report_.Add({inode, "an extended attribute belongs to no file", WhenOwnerless(Mend::kRemoveRecord),
                 std::string(key)});
    return;
  }
  ++owner->xattrs_found;
}

void OwnerCheck::End() {
  ReportRun();
  for (size_t i = 0; i < owners_.size(); ++i) {
    const Owner& owner = owners_[i];
    if (owner.stale_end == kBeingRemoved) {
      continue;
    }
    // Of a number that is used twice nobody knows whose the bytes are.
    const bool twice = (i > 0 && owners_[i - 1].inode == owner.inode) ||
                       (i + 1 < owners_.size() && owners_[i + 1].inode == owner.inode);
    if (owner.chunks_found != owner.chunk_count) {
      const std::string_view lost =
          owner.chunks_found < owner.chunk_count ? "; what is missing reads as zeros" : "";
      report_.Add(
          owner.inode,
          fmt::format("the file counts {} chunks and has {}{}", owner.chunk_count, owner.chunks_found, lost),
          twice ? Mend::kNothing : Mend::kSetChunkCount, owner.chunks_found);
    }
    if (owner.has_xattrs != (owner.xattrs_found > 0)) {
      report_.Add(owner.inode, "the inode is wrong about having extended attributes",
                  twice ? Mend::kNothing : Mend::kSetXattrFlag, owner.xattrs_found > 0 ? 1 : 0);
    }
  }
}

}  // namespace varve
