// TableWriter: the byte stream at the end of a table. It takes extents as the stream grows, gathers bytes
// into large aligned writes, keeps several of them in flight, and pads only the end of the stream to a
// sector. Where it is given holes (table_holes.h), blocks go there first, as far as they fit.
//
// Used by one coroutine on one executor. Unless Finish has ended, Abandon must be awaited before destruction.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/cache/block_cache.h"
#include "engine/device/aligned_buffer.h"
#include "engine/device/block_device.h"
#include "engine/ring/async_event.h"
#include "engine/table/extent_source.h"
#include "engine/table/table_format.h"
#include "engine/table/table_holes.h"
#include "engine/table/table_view.h"

namespace varve {

class TableWriter {
 public:
  // Continues after `used_bytes` of a table that has `extents` (none for a new table): what they hold beyond
  // used_bytes is filled first. `expected_bytes`: how much space to take at once at first. Precondition of
  // `holes`: in order, and nobody reads what lies there.
  TableWriter(BlockDevice& device, ExtentSource& source, IoPurpose purpose, std::vector<TableExtent> extents,
              uint64_t used_bytes, uint64_t expected_bytes, std::vector<TableRange> holes = {});
  ~TableWriter();
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;

  // Before anything is written: `cache` is told of all that is, in the table's name. It keeps it for what it
  // is for; nullopt: it drops what it has kept of what is written over. Precondition of the first: a new
  // table.
  void Tell(BlockCache& cache, TableId table, std::optional<WrittenFor> what_for);

  // Where the next byte goes, unless Place says otherwise.
  uint64_t table_offset() const { return table_offset_; }
  // Before a block is begun that is to take `wanted` bytes, or fewer where `least` says how few would do:
  // chooses its place, a hole where one has the room, and returns the room there. UINT64_MAX at the end of
  // the table.
  uint64_t ChooseRoom(uint64_t wanted, uint64_t least);
  // Before each block: where its `bytes` go in one piece. There, if ChooseRoom found the room; else
  // elsewhere.
  uint64_t Place(uint64_t bytes);
  void Append(std::string_view bytes);
  // Zeroes up to a sector boundary: where a footer starts.
  void PadToSector();

  bool WantsDrain() const;
  Task<Status> Drain();
  // Pads to a sector, writes the rest, waits for every write, gives unused space back.
  Task<Status> Finish();
  Task<void> Abandon();

  // After Finish: all extents of the table, the old ones included, and where the stream ended.
  const std::vector<TableExtent>& extents() const { return extents_; }
  uint64_t used_bytes() const { return in_hole_ ? tail_ : table_offset_; }
  // Where the blocks went that Place was asked about.
  const std::vector<TableRange>& placed() const { return placed_; }
  // What was written, padding included.
  uint64_t written_bytes() const { return written_bytes_; }

 private:
  // A piece of the stream that is written at once.
  struct Batch {
    AlignedBuffer buffer;
    uint64_t table_offset = 0;
    size_t filled = 0;
  };
  // What outlives the writer while writes are in flight.
  struct Flight {
    size_t writes = 0;
    Status status;
    AsyncEvent landed;
  };

  void SealBatch();
  // Ends what is written where the stream stands, and goes on elsewhere.
  void MoveTo(const TableRange* hole);
  // Makes the extents reach table offset `end`.
  Status Cover(uint64_t end);
  Task<void> TellOf(const Batch& batch) const;
  // Frees what new extents hold beyond table offset `from`.
  void GiveBackBeyond(uint64_t from);
  // Waits for every write, and gives back what the table does not need: all that is new where it has failed.
  Task<void> EndWrites();
  Task<void> WaitForWrites(size_t in_flight_max);
  static Task<void> WriteBatch(std::shared_ptr<Flight> flight, BlockDevice& device, IoPurpose purpose,
                               Batch batch, std::vector<TableExtent> extents);

  BlockDevice& device_;
  ExtentSource& source_;
  const IoPurpose purpose_;
  std::vector<TableExtent> extents_;
  // Of extents_, how many the table had before.
  const size_t old_extents_;
  uint64_t covered_end_;
  const uint64_t expected_end_;
  uint64_t table_offset_;
  std::vector<TableRange> holes_;
  // While the stream runs in a hole: where that ends, and where the end of the table is.
  bool in_hole_ = false;
  uint64_t hole_end_ = 0;
  uint64_t tail_ = 0;
  std::vector<TableRange> placed_;
  uint64_t written_bytes_ = 0;
  // Whom to tell, or nobody.
  BlockCache* cache_ = nullptr;
  TableId table_;
  std::optional<WrittenFor> what_for_;
  Batch open_;
  std::vector<Batch> sealed_;
  std::shared_ptr<Flight> flight_;
  // The first failure: nothing is written after it.
  Status status_;
};

// Seals a block, appends it where the writer places it, and returns the handle by which it is found again.
BlockHandle WriteBlock(TableWriter& writer, std::string& block, const BlockIdentity& identity, BlockKind kind,
                       Generation birth);

}  // namespace varve
