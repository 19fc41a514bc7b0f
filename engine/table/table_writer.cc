#include "engine/table/table_writer.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/ring/executor.h"
#include "engine/table/table_extents.h"

namespace varve {
namespace {

// Large enough that the device's cost an operation does not count, small enough that a few take little
// memory.
constexpr size_t kBatchBytes = 256 * kKiB;
constexpr size_t kWritesInFlightMax = 4;
// Of it, what is copied into the cache before others have their turn.
constexpr size_t kToldAtOnce = 2 * kWrittenPieceBytes;
// How much space is taken at once beyond what was expected.
constexpr uint64_t kFurtherTakeBytes = 1 * kMiB;

uint64_t CoveredEnd(const std::vector<TableExtent>& extents) {
  return extents.empty() ? 0 : extents.back().table_offset + extents.back().extent.bytes();
}

}  // namespace

TableWriter::TableWriter(BlockDevice& device, ExtentSource& source, IoPurpose purpose,
                         std::vector<TableExtent> extents, uint64_t used_bytes, uint64_t expected_bytes,
                         std::vector<TableRange> holes)
    : device_(device),
      source_(source),
      purpose_(purpose),
      extents_(std::move(extents)),
      old_extents_(extents_.size()),
      covered_end_(CoveredEnd(extents_)),
      expected_end_(used_bytes + expected_bytes),
      table_offset_(RoundUp(used_bytes, device.sector_bytes())),
      holes_(std::move(holes)),
      flight_(std::make_shared<Flight>()) {
  Check(used_bytes <= covered_end_, "a table uses more than its extents hold");
}

TableWriter::~TableWriter() {
  Check(flight_->writes == 0, "a table writer was destroyed while it writes");
}

void TableWriter::Tell(BlockCache& cache, TableId table, std::optional<WrittenFor> what_for) {
  static_assert(kBatchBytes % kWrittenPieceBytes == 0);
  Check(!what_for || (table_offset_ == 0 && holes_.empty()), "only what is written of a new table is kept");
  cache_ = &cache;
  table_ = table;
  what_for_ = what_for;
}

Task<void> TableWriter::TellOf(const Batch& batch) const {
  if (cache_ == nullptr) {
    co_return;
  }
  if (!what_for_) {
    cache_->DropWritten(table_, batch.table_offset, batch.filled);
    co_return;
  }
  for (uint64_t at = 0; at < batch.filled; at += kToldAtOnce) {
    if (at > 0) {
      co_await Executor::Current().Yield();
    }
    const uint64_t bytes = std::min<uint64_t>(kToldAtOnce, batch.filled - at);
    cache_->KeepWritten(table_, batch.table_offset + at, batch.buffer.view().substr(at, bytes), *what_for_);
  }
}

uint64_t TableWriter::ChooseRoom(uint64_t wanted, uint64_t least) {
  const uint64_t enough = std::min(wanted, least);
  if (!in_hole_ || hole_end_ - table_offset_ < enough) {
    // The first that has it: neighbours in key order stay neighbours as far as may be.
    const auto hole = std::find_if(holes_.begin(), holes_.end(),
                                   [&](const TableRange& candidate) { return enough <= candidate.bytes(); });
    if (hole != holes_.end()) {
      const TableRange taken = *hole;
      holes_.erase(hole);
      MoveTo(&taken);
    } else if (in_hole_) {
      MoveTo(nullptr);
    }
  }
  return in_hole_ ? hole_end_ - table_offset_ : UINT64_MAX;
}

uint64_t TableWriter::Place(uint64_t bytes) {
  const bool fits_here = !in_hole_ ? holes_.empty() : bytes <= hole_end_ - table_offset_;
  if (!fits_here) {
    ChooseRoom(bytes, bytes);
  }
  if (!placed_.empty() && placed_.back().end == table_offset_) {
    placed_.back().end += bytes;
  } else {
    placed_.push_back({table_offset_, table_offset_ + bytes});
  }
  return table_offset_;
}

void TableWriter::MoveTo(const TableRange* hole) {
  PadToSector();
  if (open_.filled > 0) {
    SealBatch();
  }
  if (!in_hole_) {
    tail_ = table_offset_;
  } else if (table_offset_ < hole_end_) {
    // What is left may still take a smaller block.
    const TableRange rest{table_offset_, hole_end_};
    holes_.insert(
        std::lower_bound(holes_.begin(), holes_.end(), rest,
                         [](const TableRange& a, const TableRange& b) { return a.begin < b.begin; }),
        rest);
  }
  in_hole_ = hole != nullptr;
  table_offset_ = in_hole_ ? hole->begin : tail_;
  hole_end_ = in_hole_ ? hole->end : 0;
}

void TableWriter::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    if (open_.buffer.empty()) {
      const uint64_t room = in_hole_ ? hole_end_ - table_offset_ : kBatchBytes;
      open_ = Batch{AlignedBuffer(std::min<uint64_t>(room, kBatchBytes)), table_offset_, 0};
    }
    const size_t count = std::min(bytes.size(), open_.buffer.size() - open_.filled);
    open_.buffer.CopyIn(open_.filled, bytes.substr(0, count));
    open_.filled += count;
    table_offset_ += count;
    bytes.remove_prefix(count);
    if (open_.filled == open_.buffer.size()) {
      SealBatch();
    }
  }
}

void TableWriter::PadToSector() {
  const uint64_t end = RoundUp(table_offset_, device_.sector_bytes());
  static constexpr char kZeros[512] = {};
  while (table_offset_ < end) {
    Append(std::string_view(kZeros, std::min<size_t>(sizeof(kZeros), end - table_offset_)));
  }
}

void TableWriter::SealBatch() {
  Batch batch = std::exchange(open_, Batch{});
  written_bytes_ += batch.filled;
  if (status_.ok()) {
    sealed_.push_back(std::move(batch));
  }
}

bool TableWriter::WantsDrain() const {
  return !sealed_.empty();
}

Task<Status> TableWriter::Drain() {
  for (Batch& batch : sealed_) {
    if (status_.ok()) {
      status_ = Cover(batch.table_offset + batch.filled);
    }
    if (!status_.ok()) {
      break;
    }
    co_await WaitForWrites(kWritesInFlightMax - 1);
    co_await TellOf(batch);
    ++flight_->writes;
    Spawn(WriteBatch(flight_, device_, purpose_, std::move(batch), extents_));
  }
  sealed_.clear();
  if (status_.ok()) {
    status_ = flight_->status;
  }
  co_return status_;
}

Task<Status> TableWriter::Finish() {
  PadToSector();
  if (open_.filled > 0) {
    SealBatch();
  }
  status_ = co_await Drain();
  co_await EndWrites();
  co_return status_;
}

Task<void> TableWriter::Abandon() {
  sealed_.clear();
  if (status_.ok()) {
    status_ = Cancelled("the table was abandoned");
  }
  return EndWrites();
}

Task<void> TableWriter::EndWrites() {
  co_await WaitForWrites(0);
  if (status_.ok()) {
    status_ = flight_->status;
  }
  if (!status_.ok() && what_for_) {
    cache_->EraseTable(table_);
  }
  GiveBackBeyond(status_.ok() ? used_bytes() : 0);
}

Status TableWriter::Cover(uint64_t end) {
  while (covered_end_ < end) {
    const uint64_t goal =
        std::max(end, expected_end_ > covered_end_ ? expected_end_ : end + kFurtherTakeBytes);
    Result<std::vector<Extent>> taken = source_.Take(goal - covered_end_);
    if (taken.Is(ErrorCode::kNoSpace) && goal > end) {
      taken = source_.Take(end - covered_end_);
    }
    if (!taken.ok()) {
      return taken.error();
    }
    for (const Extent& extent : *taken) {
      if (extents_.size() > old_extents_ && extents_.back().extent.end_unit() == extent.first_unit) {
        extents_.back().extent.units += extent.units;
      } else {
        extents_.push_back(TableExtent{covered_end_, extent});
      }
      covered_end_ += extent.bytes();
    }
  }
  return OkStatus();
}

void TableWriter::GiveBackBeyond(uint64_t from) {
  while (extents_.size() > old_extents_) {
    TableExtent& last = extents_.back();
    const uint64_t kept_bytes = from > last.table_offset ? from - last.table_offset : 0;
    const auto kept =
        static_cast<uint32_t>(std::min<uint64_t>(CeilDiv(kept_bytes, kExtentUnitBytes), last.extent.units));
    if (kept < last.extent.units) {
      source_.GiveBack(Extent{last.extent.first_unit + kept, last.extent.units - kept});
      last.extent.units = kept;
    }
    if (kept > 0) {
      break;
    }
    extents_.pop_back();
  }
  covered_end_ = CoveredEnd(extents_);
}

Task<void> TableWriter::WaitForWrites(size_t in_flight_max) {
  while (flight_->writes > in_flight_max) {
    flight_->landed.Reset();
    co_await flight_->landed.Wait();
  }
}

Task<void> TableWriter::WriteBatch(std::shared_ptr<Flight> flight, BlockDevice& device, IoPurpose purpose,
                                   Batch batch, std::vector<TableExtent> extents) {
  uint64_t done = 0;
  Status status;
  while (done < batch.filled && status.ok()) {
    const TableRun run = RunAt(extents, batch.table_offset + done, batch.filled - done);
    const std::span<const std::byte> from = batch.buffer.span().subspan(done, run.bytes);
    status = co_await device.Write(run.device_offset, from, purpose);
    done += run.bytes;
  }
  if (!status.ok() && flight->status.ok()) {
    flight->status = status;
  }
  --flight->writes;
  flight->landed.Set();
}

BlockHandle WriteBlock(TableWriter& writer, std::string& block, const BlockIdentity& identity, BlockKind kind,
                       Generation birth) {
  const uint64_t place = writer.Place(block.size() + kBlockTrailerBytes);
  const BlockHandle handle = SealBlock(block, identity, kind, birth, place);
  writer.Append(block);
  return handle;
}

}  // namespace varve
