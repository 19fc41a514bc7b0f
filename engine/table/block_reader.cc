#include "engine/table/block_reader.h"

#include <algorithm>
#include <utility>

#include "engine/ring/executor.h"
#include "engine/ring/when_all.h"
#include "engine/table/table_extents.h"
#include "engine/table/table_format.h"

namespace varve {

bool HandleFits(const TableView& view, const BlockHandle& handle) {
  return handle.bytes >= kBlockTrailerBytes && handle.bytes <= kBlockBytesMax &&
         handle.table_offset <= view.used_bytes && handle.bytes <= view.used_bytes - handle.table_offset;
}

std::optional<uint64_t> PlaceIn(uint64_t start, uint64_t bytes, const BlockHandle& block) {
  if (block.table_offset < start || block.table_offset - start > bytes ||
      block.bytes > bytes - (block.table_offset - start)) {
    return std::nullopt;
  }
  return block.table_offset - start;
}

namespace {

// The first of those pieces.
Result<DevicePiece> LocatePiece(const BlockDevice& device, const TableView& view, uint64_t table_offset,
                                uint64_t bytes) {
  const TableRun run = RunAt(view.extents, table_offset, bytes);
  // Extents come from the manifest: nothing says that they are aligned, or on the device.
  if (run.bytes == 0 || run.bytes % device.sector_bytes() != 0 ||
      run.device_offset.value % device.sector_bytes() != 0 || run.bytes > device.size_bytes() ||
      run.device_offset.value > device.size_bytes() - run.bytes) {
    return TableCorruption(view.id, table_offset, "the table's extents do not hold this offset");
  }
  return DevicePiece{run.device_offset, run.bytes};
}

}  // namespace

Result<std::vector<DevicePiece>> LocateTableBytes(const BlockDevice& device, const TableView& view,
                                                  uint64_t table_offset, uint64_t bytes) {
  std::vector<DevicePiece> pieces;
  while (bytes > 0) {
    const Result<DevicePiece> piece = LocatePiece(device, view, table_offset, bytes);
    if (!piece.ok()) {
      return piece.error();
    }
    pieces.push_back(*piece);
    table_offset += piece->bytes;
    bytes -= piece->bytes;
  }
  return pieces;
}

namespace {

Task<Status> ReadPieces(BlockDevice& device, const TableView& view, uint64_t table_offset,
                        std::span<std::byte> into, IoPurpose purpose) {
  while (!into.empty()) {
    const Result<DevicePiece> piece = LocatePiece(device, view, table_offset, into.size());
    if (!piece.ok()) {
      co_return piece.error();
    }
    Status status = co_await device.Read(piece->offset, into.first(piece->bytes), purpose);
    if (!status.ok()) {
      co_return status;
    }
    table_offset += piece->bytes;
    into = into.subspan(piece->bytes);
  }
  co_return OkStatus();
}

Task<Status> Ready(Status status) {
  co_return status;
}

// No coroutine: nearly all reads are of one piece, and a frame for each layer is what they cost most.
Task<Status> ReadFromExtents(BlockDevice& device, const TableView& view, uint64_t table_offset,
                             std::span<std::byte> into, IoPurpose purpose) {
  if (into.empty()) {
    return Ready(OkStatus());
  }
  const Result<DevicePiece> first = LocatePiece(device, view, table_offset, into.size());
  if (!first.ok()) {
    return Ready(first.error());
  }
  return first->bytes == into.size() ? device.Read(first->offset, into, purpose)
                                     : ReadPieces(device, view, table_offset, into, purpose);
}

// What a merge reads in a row, of a table of which the cache holds pieces as they were written; what it lacks
// between them comes from the device. Each piece is a slice of some tens of microseconds, and comes after
// what others have to do: a merge of many tables begins with one such read of each.
Task<Status> ReadWritten(const TableEnvironment& environment, const TableView& view, uint64_t table_offset,
                         std::span<std::byte> into, IoPurpose purpose) {
  const uint64_t end = table_offset + into.size();
  const auto part = [&](uint64_t from, uint64_t to) { return into.subspan(from - table_offset, to - from); };
  uint64_t read_end = table_offset;
  for (uint64_t at = table_offset; at < end;) {
    co_await Executor::Current().Yield();
    const uint64_t next = std::min(RoundDown(at, kWrittenPieceBytes) + kWrittenPieceBytes, end);
    const bool kept = environment.cache.CopyWritten(view.id, at, part(at, next));
    const uint64_t lacks_end = kept ? at : next;
    if ((kept || next == end) && read_end < lacks_end) {
      Status status =
          co_await ReadFromExtents(environment.device, view, read_end, part(read_end, lacks_end), purpose);
      if (!status.ok()) {
        co_return status;
      }
    }
    read_end = kept ? next : read_end;
    at = next;
  }
  environment.cache.LetGoOfWritten(view.id, table_offset, into.size());
  co_return OkStatus();
}

}  // namespace

Task<Status> ReadTableBytes(const TableEnvironment& environment, const TableView& view, uint64_t table_offset,
                            std::span<std::byte> into, IoPurpose purpose) {
  // So much at once only a walk reads.
  if (purpose == IoPurpose::kCompaction && into.size() >= kWrittenPieceBytes) {
    if (environment.cache.HasWritten(view.id, table_offset, into.size())) {
      return ReadWritten(environment, view, table_offset, into, purpose);
    }
  } else if (purpose == IoPurpose::kCompaction || purpose == IoPurpose::kUserRead) {
    if (environment.cache.CopyWritten(view.id, table_offset, into)) {
      return Ready(OkStatus());
    }
  }
  return ReadFromExtents(environment.device, view, table_offset, into, purpose);
}

Result<BlockRef> AcceptBlock(const TableEnvironment& environment, TableId table, const BlockHandle& handle,
                             BlockKind kind, const ReadRun& read, uint64_t offset, bool fill_cache) {
  const BlockIdentity identity(environment.store_uuid, table);
  const Result<std::string_view> opened =
      OpenBlock(read.view().substr(offset, handle.bytes), identity, kind, handle);
  if (opened.Is(ErrorCode::kUnsupported)) {
    return opened.error();
  }
  if (!opened.ok()) {
    return TableCorruption(table, handle.table_offset, opened.error().message());
  }
  BlockRef block = read.Block(offset, handle.bytes);
  if (fill_cache) {
    environment.cache.Insert(CacheKeyOf(table, handle), kind, block);
  }
  return block;
}

ReadRun MemoryFor(const TableEnvironment& environment, uint64_t bytes, bool fill_cache) {
  const uint32_t sector = environment.device.sector_bytes();
  // In the cache the sectors around a block would take up to as much room again.
  return fill_cache ? ReadRun::ForBlocksThatStay(bytes, sector) : ReadRun::ForBlocksThatPass(bytes, sector);
}

namespace {

Task<Result<BlockRef>> ReadFromDevice(const TableEnvironment& environment, const TableView& view,
                                      BlockHandle handle, BlockKind kind, IoPurpose purpose,
                                      bool fill_cache) {
  if (!HandleFits(view, handle)) {
    co_return TableCorruption(view.id, handle.table_offset, "a block handle points outside the table");
  }
  const uint32_t sector = environment.device.sector_bytes();
  const uint64_t start = RoundDown(handle.table_offset, sector);
  ReadRun memory = MemoryFor(environment, RoundUp(handle.end(), sector) - start, fill_cache);
  const Status read = co_await ReadTableBytes(environment, view, start, memory.span(), purpose);
  if (!read.ok()) {
    co_return read.error();
  }
  co_return AcceptBlock(environment, view.id, handle, kind, memory, handle.table_offset - start, fill_cache);
}

Task<Result<BlockRef>> ReadFromDeviceAndBehind(const TableEnvironment& environment, const TableView& view,
                                               BlockHandle handle, const std::vector<BlockHandle>& behind,
                                               BlockKind kind, IoPurpose purpose) {
  if (!HandleFits(view, handle)) {
    co_return TableCorruption(view.id, handle.table_offset, "a block handle points outside the table");
  }
  const uint32_t sector = environment.device.sector_bytes();
  const uint64_t start = RoundDown(handle.table_offset, sector);
  ReadRun memory = MemoryFor(environment, RoundUp(behind.back().end(), sector) - start, true);
  const Status read = co_await ReadTableBytes(environment, view, start, memory.span(), purpose);
  if (!read.ok()) {
    // It may be a sector of those behind.
    co_return co_await ReadFromDevice(environment, view, handle, kind, purpose, true);
  }
  const auto accept = [&](const BlockHandle& block) {
    return AcceptBlock(environment, view.id, block, kind, memory, block.table_offset - start, true);
  };
  for (const BlockHandle& next : behind) {
    if (!environment.cache.Peek(CacheKeyOf(view.id, next))) {
      (void)accept(next);
    }
  }
  co_return accept(handle);
}

Task<Result<BlockRef>> Read(const TableEnvironment& environment, const TableView& view,
                            const BlockHandle& handle, const std::vector<BlockHandle>& behind, BlockKind kind,
                            IoPurpose purpose) {
  return behind.empty() ? ReadFromDevice(environment, view, handle, kind, purpose, true)
                        : ReadFromDeviceAndBehind(environment, view, handle, behind, kind, purpose);
}

// Whoever misses the block meanwhile shares the read.
Task<Result<BlockRef>> ReadOnce(const TableEnvironment& environment, const TableView& view,
                                BlockHandle handle, std::vector<BlockHandle> behind, BlockKind kind,
                                IoPurpose purpose) {
  const BlockKey key = CacheKeyOf(view.id, handle);
  BlockCache::ReadTicket ticket = environment.cache.JoinRead(key);
  while (!ticket.leads) {
    co_await ticket.read->done.Wait();
    if (ticket.read->result) {
      co_return *ticket.read->result;
    }
    ticket = environment.cache.JoinRead(key);
  }
  Result<BlockRef> block = co_await Read(environment, view, handle, behind, kind, purpose);
  environment.cache.FinishRead(key, ticket, block);
  co_return block;
}

}  // namespace

Task<Result<BlockRef>> JoinRead(const TableEnvironment& environment, const TableView& view,
                                BlockHandle handle, BlockKind kind, IoPurpose purpose) {
  return ReadOnce(environment, view, handle, {}, kind, purpose);
}

Task<Result<BlockRef>> ReadBlockAndBehind(const TableEnvironment& environment, const TableView& view,
                                          BlockHandle handle, std::vector<BlockHandle> behind, BlockKind kind,
                                          IoPurpose purpose) {
  environment.cache.CountMiss(kind);
  return ReadOnce(environment, view, handle, std::move(behind), kind, purpose);
}

Task<Result<BlockRef>> ReadBlock(const TableEnvironment& environment, const TableView& view,
                                 BlockHandle handle, BlockKind kind, IoPurpose purpose, bool fill_cache) {
  if (!fill_cache) {
    return ReadFromDevice(environment, view, handle, kind, purpose, false);
  }
  environment.cache.CountMiss(kind);
  return JoinRead(environment, view, handle, kind, purpose);
}

namespace {

// Blocks [first, end) of `handles` lie behind each other, and none of them is cached.
Task<Status> ReadNeighbours(const TableEnvironment& environment, const TableView& view,
                            const std::vector<BlockHandle>& handles, size_t first, size_t end, BlockKind kind,
                            IoPurpose purpose, std::vector<BlockRef>& blocks) {
  const uint32_t sector = environment.device.sector_bytes();
  const uint64_t start = RoundDown(handles[first].table_offset, sector);
  ReadRun memory = MemoryFor(environment, RoundUp(handles[end - 1].end(), sector) - start, false);
  Status read = co_await ReadTableBytes(environment, view, start, memory.span(), purpose);
  for (size_t i = first; i < end && read.ok(); ++i) {
    Result<BlockRef> block =
        AcceptBlock(environment, view.id, handles[i], kind, memory, handles[i].table_offset - start, false);
    if (block.ok()) {
      blocks[i] = std::move(block).value();
    } else {
      read = block.error();
    }
  }
  co_return read;
}

constexpr uint64_t kRunBytesMax = 256 * kKiB;
// What lies between two blocks is read with them up to here: a device reads so much more in the time that
// another request takes it. Less than a unit, so no unit that was given back lies between them.
constexpr uint64_t kGapBytesMax = 8 * kKiB;
static_assert(kGapBytesMax < kExtentUnitBytes);

bool FollowsClosely(const BlockHandle& next, const BlockHandle& before) {
  return next.table_offset >= before.end() && next.table_offset - before.end() <= kGapBytesMax;
}

}  // namespace

Task<Result<std::vector<BlockRef>>> ReadBlocks(const TableEnvironment& environment, const TableView& view,
                                               std::vector<BlockHandle> handles, BlockKind kind,
                                               IoPurpose purpose) {
  std::vector<BlockRef> blocks(handles.size());
  for (size_t i = 0; i < handles.size(); ++i) {
    if (!HandleFits(view, handles[i])) {
      co_return TableCorruption(view.id, handles[i].table_offset, "a block handle points outside the table");
    }
    blocks[i] = environment.cache.Peek(CacheKeyOf(view.id, handles[i]));
  }
  std::vector<Task<Status>> reads;
  for (size_t first = 0; first < handles.size();) {
    size_t end = first + 1;
    if (!blocks[first]) {
      while (end < handles.size() && !blocks[end] && FollowsClosely(handles[end], handles[end - 1]) &&
             handles[end].end() - handles[first].table_offset <= kRunBytesMax) {
        ++end;
      }
      reads.push_back(ReadNeighbours(environment, view, handles, first, end, kind, purpose, blocks));
    }
    first = end;
  }
  const Status read = co_await WhenAllOk(std::move(reads));
  if (!read.ok()) {
    co_return read.error();
  }
  co_return std::move(blocks);
}

}  // namespace varve
