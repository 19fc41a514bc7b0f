// IndexBuilder: the index of one segment, from the bottom up. A level that outgrows one block is written as
// partitions into the table's stream and becomes a level above; what remains at the top is the root, for the
// footer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/table/index_block.h"
#include "engine/table/index_keys.h"
#include "engine/table/table_format.h"
#include "engine/table/table_writer.h"

namespace varve {

// About a hundred entries with keys of 32 bytes: a 64 MiB table of 4 KiB blocks has 170 partitions under its
// root.
inline constexpr size_t kIndexPartitionBytes = 8 * kKiB;
// The same number of blocks where entries have outlines: a walk that reads those alone reads no block between
// two partitions, and each is a read of its own.
inline constexpr size_t kOutlinedPartitionBytes = 32 * kKiB;
// A root of this size indexes 1.6 MiB of data without partitions; beyond it, reading the root on each first
// touch of a table would cost more than the level it saves.
inline constexpr size_t kIndexRootBytesMax = 32 * kKiB;

class IndexBuilder {
 public:
  // `shortens`: long keys are shortened to what tells neighbours apart.
  IndexBuilder(const BlockIdentity& identity, Generation birth, TableWriter& writer, bool shortens)
      : identity_(identity), birth_(birth), writer_(writer), shortens_(shortens) {}

  // Blocks in key order, disjoint (checked): new ones, and ones that stay where an older generation put them.
  // Of the keys so many bytes stay at least. The first smallest and the last largest key stay whole.
  void Add(IndexEntry entry, IndexKeyBytes bytes_min = {});

  struct Root {
    std::string payload;
    // Levels of index blocks, the root's included.
    uint8_t levels = 0;
  };
  // Writes what is left of the lower levels. Precondition: at least one Add.
  Root Finish();

  // Bytes of partitions written so far, and what is still in memory.
  uint64_t written_bytes() const { return written_bytes_; }
  uint64_t pending_bytes() const;

 private:
  struct Level {
    std::vector<IndexEntry> entries;
    size_t bytes = 0;
    bool partitioned = false;
  };

  // The largest key of the last entry, and the smallest one of `next`.
  void Shorten(IndexEntry& next, size_t smallest_bytes_min);
  void AddToLevel(size_t level, IndexEntry entry);
  // Of the next one. Precondition: the level has entries.
  size_t PartitionBytes(size_t level) const;
  // Writes entries [0, count) of the level as one block and names it in the level above.
  void WritePartition(size_t level, size_t count);

  BlockIdentity identity_;
  Generation birth_;
  TableWriter& writer_;
  const bool shortens_;
  // Of the largest key of the last entry.
  size_t largest_bytes_min_ = 0;
  std::vector<Level> levels_;
  uint64_t written_bytes_ = 0;
};

}  // namespace varve
