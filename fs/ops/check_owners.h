// Chunks and extended attributes against the inodes they belong to: the part of the namespace check that
// counts bytes.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "fs/namespace/namespace_format.h"
#include "fs/ops/namespace_problem.h"

namespace varve {

// Told every inode, wherever it lies, and every orphan; then, after EndInodes, every chunk and attribute in
// key order. 56 bytes an inode.
class OwnerCheck {
 public:
  explicit OwnerCheck(ProblemReport& report) : report_(report) {}

  void SetChunkBytes(uint32_t chunk_bytes) { chunk_bytes_ = chunk_bytes; }
  void AddInode(const Inode& inode);
  // It is being removed: any of its chunks may be gone, and none is out of place.
  void AddOrphan(const Inode& inode);
  void AddTruncation(InodeNumber inode, uint64_t stale_end);
  // An inode that could not be read: what seems to belong to nobody may be its.
  void AddUnreadable() { some_unreadable_ = true; }
  void EndInodes();

  void AddChunk(InodeNumber inode, uint64_t index, size_t bytes);
  void AddXattr(InodeNumber inode, std::string_view key);
  // Counts against what was there.
  void End();

 private:
  // What an inode says of its bytes and attributes.
  struct Owner {
    uint64_t inode;
    uint64_t chunk_count;
    uint64_t chunk_end;  // chunks spanned by the size
    bool has_xattrs;
    uint64_t stale_end = 0;  // a truncation still has to remove chunks below
    uint64_t chunks_found = 0;
    uint64_t xattrs_found = 0;
  };
  // Chunks that follow each other and are out of place for the same reason: one problem.
  struct Run {
    uint64_t inode = 0;
    uint64_t first = 0;
    uint64_t last = 0;
    uint64_t chunks = 0;
    bool has_owner = false;
  };

  void AddOutOfPlace(uint64_t inode, uint64_t index, bool has_owner);
  void ReportRun();
  Mend WhenOwnerless(Mend mend) const { return some_unreadable_ ? Mend::kNothing : mend; }

  ProblemReport& report_;
  uint32_t chunk_bytes_ = FormatParameters().chunk_bytes;
  std::vector<Owner> owners_;  // by inode, once all are there
  std::vector<std::pair<uint64_t, uint64_t>> truncations_;
  bool some_unreadable_ = false;
  Run run_;
};

}  // namespace varve
