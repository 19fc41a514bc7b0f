// TableWriter: the byte stream at the end of a table. It takes extents as the stream grows, gathers bytes
// into large aligned writes, keeps several of them in flight, and pads only the end of the stream to a
// sector.
//
// Used by one coroutine on one executor. Unless Finish has ended, Abandon must be awaited before destruction.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/device/block_device.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_view.h"

namespace varve {

class TableWriter {
 public:
  // Continues after `used_bytes` of a table that has `extents` (none for a new table): what they hold beyond
  // used_bytes is filled first. `expected_bytes`: how much space to take at once at first.
  TableWriter(BlockDevice& device, ExtentSource& source, IoPurpose purpose, std::vector<TableExtent> extents,
              uint64_t used_bytes, uint64_t expected_bytes);
  ~TableWriter();
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;

  // Where the next byte goes.
  uint64_t table_offset() const { return table_offset_; }
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
  uint64_t used_bytes() const { return table_offset_; }

 private:
  struct Batch;
  struct Flight;

  void SealBatch();
  // Extends the table's byte space beyond table offset `end`.
  Status Cover(uint64_t end);
  void GiveBackUnused(uint64_t from);
  Task<void> StartWrites();

  BlockDevice& device_;
  ExtentSource& source_;
  IoPurpose purpose_;
  std::vector<TableExtent> extents_;
  // The part of extents_ that was not there before.
  uint64_t first_offset_;
  uint64_t covered_end_;
  uint64_t next_take_bytes_;
  uint64_t table_offset_;
  std::unique_ptr<Batch> open_batch_;
  std::vector<std::unique_ptr<Batch>> sealed_batches_;
  std::shared_ptr<Flight> flight_;
  Status status_;
  bool ended_ = false;
};

}  // namespace varve
