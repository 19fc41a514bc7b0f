#include "engine/table/block_reader.h"

#include "engine/device/aligned_buffer.h"
#include "engine/table/table_extents.h"
#include "engine/table/table_format.h"

namespace varve {

bool HandleFits(const TableView& view, const BlockHandle& handle) {
  return handle.bytes >= kBlockTrailerBytes && handle.bytes <= kBlockBytesMax &&
         handle.table_offset <= view.used_bytes && handle.bytes <= view.used_bytes - handle.table_offset;
}

Task<Status> ReadTableBytes(BlockDevice& device, const TableView& view, uint64_t table_offset,
                            std::span<std::byte> into, IoPurpose purpose) {
  while (!into.empty()) {
    const TableRun run = RunAt(view.extents, table_offset, into.size());
    // Extents come from the manifest: nothing says that they are aligned, or on the device.
    if (run.bytes == 0 || run.bytes % device.sector_bytes() != 0 ||
        run.device_offset.value % device.sector_bytes() != 0 || run.bytes > device.size_bytes() ||
        run.device_offset.value > device.size_bytes() - run.bytes) {
      co_return TableCorruption(view.id, table_offset, "the table's extents do not hold this offset");
    }
    Status status = co_await device.Read(run.device_offset, into.first(run.bytes), purpose);
    if (!status.ok()) {
      co_return status;
    }
    table_offset += run.bytes;
    into = into.subspan(run.bytes);
  }
  co_return OkStatus();
}

Result<BlockRef> AcceptBlock(const TableEnvironment& environment, TableId table, const BlockHandle& handle,
                             BlockKind kind, std::string_view bytes, bool fill_cache) {
  const BlockIdentity identity(environment.store_uuid, table);
  const Result<std::string_view> opened = OpenBlock(bytes, identity, kind, handle);
  if (opened.Is(ErrorCode::kUnsupported)) {
    return opened.error();
  }
  if (!opened.ok()) {
    return TableCorruption(table, handle.table_offset, opened.error().message());
  }
  // A copy: the sectors around a block would take up to twice its room in the cache.
  BlockRef block = BlockRef::CopyOf(bytes);
  if (fill_cache) {
    environment.cache.Insert(BlockKey{table, handle.birth, handle.table_offset}, kind, block);
  }
  return block;
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
  AlignedBuffer buffer(RoundUp(handle.end(), sector) - start, sector);
  const Status read = co_await ReadTableBytes(environment.device, view, start, buffer.span(), purpose);
  if (!read.ok()) {
    co_return read.error();
  }
  const std::string_view bytes = buffer.view().substr(handle.table_offset - start, handle.bytes);
  co_return AcceptBlock(environment, view.id, handle, kind, bytes, fill_cache);
}

}  // namespace

Task<Result<BlockRef>> ReadBlock(const TableEnvironment& environment, const TableView& view,
                                 BlockHandle handle, BlockKind kind, IoPurpose purpose, bool fill_cache) {
  if (!fill_cache) {
    Result<BlockRef> alone = co_await ReadFromDevice(environment, view, handle, kind, purpose, false);
    co_return alone;
  }
  environment.cache.CountMiss(kind);
  const BlockKey key{view.id, handle.birth, handle.table_offset};
  const BlockCache::ReadTicket ticket = environment.cache.JoinRead(key);
  if (!ticket.leads) {
    co_await ticket.read->done.Wait();
    co_return *ticket.read->result;
  }
  Result<BlockRef> block = co_await ReadFromDevice(environment, view, handle, kind, purpose, true);
  environment.cache.FinishRead(key, ticket, block);
  co_return block;
}

}  // namespace varve
