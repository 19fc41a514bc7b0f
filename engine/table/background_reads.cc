#include "engine/table/background_reads.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/base/check.h"
#include "engine/ring/spawn_on.h"
#include "engine/table/table_format.h"

namespace varve {

BackgroundReads::~BackgroundReads() {
  Check((state_.load() & ~kEnded) == 0, "a store ended before its reads did");
}

bool BackgroundReads::Enter(uint64_t bytes) {
  const uint64_t before = state_.fetch_add(bytes);
  if (before + bytes > kBytesMax) {
    Leave(bytes);
    return false;
  }
  return true;
}

void BackgroundReads::Leave(uint64_t bytes) {
  if (state_.fetch_sub(bytes) - bytes == kEnded) {
    idle_.Set();
  }
}

bool BackgroundReads::Start(const TableEnvironment& environment, const TableView& view,
                            std::span<const BlockHandle> handles, BlockKind kind, IoPurpose purpose) {
  const uint32_t sector = environment.device.sector_bytes();
  Read read;
  read.table = view.id;
  read.kind = kind;
  read.purpose = purpose;
  read.start = RoundDown(handles.front().table_offset, sector);
  read.bytes = RoundUp(handles.back().end(), sector) - read.start;
  if (Executor::CurrentOrNull() == nullptr || !Enter(read.bytes)) {
    return false;
  }
  Result<std::vector<DevicePiece>> pieces =
      LocateTableBytes(environment.device, view, read.start, read.bytes);
  if (pieces.ok()) {
    read.pieces = std::move(pieces).value();
    read.wanted.reserve(handles.size());
    for (const BlockHandle& handle : handles) {
      BlockCache::ReadTicket ticket = environment.cache.JoinRead(CacheKeyOf(view.id, handle));
      if (ticket.leads) {
        read.wanted.push_back({handle, std::move(ticket)});
      }
    }
  }
  if (read.wanted.empty()) {
    // Who wants the blocks reads them, or learns why they cannot be read.
    Leave(read.bytes);
    return true;
  }
  Spawn(Run(environment, std::move(read)));
  return true;
}

Task<Status> BackgroundReads::Fill(BlockDevice& device, const Read& read, std::span<std::byte> into) {
  for (const DevicePiece& piece : read.pieces) {
    Status status = co_await device.Read(piece.offset, into.first(piece.bytes), read.purpose);
    if (!status.ok()) {
      co_return status;
    }
    into = into.subspan(piece.bytes);
  }
  co_return OkStatus();
}

Task<void> BackgroundReads::Run(const TableEnvironment& environment, Read read) {
  const BlockIdentity identity(environment.store_uuid, read.table);
  {
    // A block of an index stays long, and would keep all of its page.
    ReadRun memory = read.kind == BlockKind::kIndex
                         ? ReadRun::ForBlocksThatStay(read.bytes, environment.device.sector_bytes())
                         : pages_.Take(read.bytes);
    if (read.kind != BlockKind::kIndex) {
      StartPreparing();
    }
    const Status filled = co_await Fill(environment.device, read, memory.span());
    const std::string_view bytes = memory.view();
    for (const Wanted& wanted : read.wanted) {
      const BlockKey key = CacheKeyOf(read.table, wanted.handle);
      const uint64_t offset = wanted.handle.table_offset - read.start;
      environment.cache.CountMiss(read.kind);
      // What cannot be had so is left to who wants the block: that read says what is wrong.
      if (!filled.ok() ||
          !OpenBlock(bytes.substr(offset, wanted.handle.bytes), identity, read.kind, wanted.handle).ok()) {
        environment.cache.AbandonRead(key, wanted.ticket);
        continue;
      }
      const BlockRef block = memory.Block(offset, wanted.handle.bytes);
      environment.cache.Insert(key, read.kind, block);
      environment.cache.FinishRead(key, wanted.ticket, block);
    }
  }
  Leave(read.bytes);
}

std::shared_ptr<PassingRead> BackgroundReads::StartPassing(const TableEnvironment& environment,
                                                           const TableView& view, uint64_t start,
                                                           uint64_t bytes, IoPurpose purpose) {
  if (Executor::CurrentOrNull() == nullptr) {
    return nullptr;
  }
  const Result<std::vector<DevicePiece>> runs = LocateTableBytes(environment.device, view, start, bytes);
  if (!runs.ok()) {
    return nullptr;
  }
  return StartPieces(environment.device,
                     std::make_shared<PassingRead>(
                         start, *runs, passing_pages_.Take(bytes, environment.device.sector_bytes())),
                     purpose);
}

void BackgroundReads::ReadOn(const TableEnvironment& environment, const TableView& view,
                             ReadStreams::Range range, uint64_t until, uint32_t block_bytes,
                             IoPurpose purpose) {
  // Some are larger than most.
  const uint64_t overlap = std::min<uint64_t>(2 * uint64_t{block_bytes}, ReadStreams::kOverlapBytesMax);
  const std::optional<ReadStreams::Range> next =
      streams_.Note(view.id, range, std::min(until, view.used_bytes), overlap);
  if (!next || Executor::CurrentOrNull() == nullptr) {
    return;
  }
  const uint32_t sector = environment.device.sector_bytes();
  const uint64_t start = RoundDown(next->begin, sector);
  const uint64_t bytes = RoundUp(next->end, sector) - start;
  const Result<std::vector<DevicePiece>> runs = LocateTableBytes(environment.device, view, start, bytes);
  std::optional<ReadRun> memory = runs.ok() ? passing_pages_.TakePage(bytes) : std::nullopt;
  // One stream at most: its pages may be with readers still.
  if (runs.ok() && !memory && streams_.DropOldest(view.id)) {
    memory = passing_pages_.TakePage(bytes);
  }
  std::shared_ptr<PassingRead> read;
  if (memory) {
    read = StartPieces(environment.device, std::make_shared<PassingRead>(start, *runs, std::move(*memory)),
                       purpose);
  }
  if (read != nullptr) {
    streams_.Keep(view.id, std::move(read));
  } else {
    streams_.TakeBack(view.id, *next);
  }
}

std::shared_ptr<PassingRead> BackgroundReads::StartPieces(BlockDevice& device,
                                                          std::shared_ptr<PassingRead> read,
                                                          IoPurpose purpose) {
  if (!Enter(kPassing * read->pieces())) {
    return nullptr;
  }
  for (size_t i = 0; i < read->pieces(); ++i) {
    Spawn(RunPiece(device, read, i, purpose));
  }
  return read;
}

Task<void> BackgroundReads::RunPiece(BlockDevice& device, std::shared_ptr<PassingRead> read, size_t piece,
                                     IoPurpose purpose) {
  co_await read->ReadPiece(device, piece, purpose);
  read.reset();
  Leave(kPassing);
}

void BackgroundReads::PrepareMemoryOn(Executor& executor) {
  prepares_on_ = &executor;
  StartPreparing();
}

void BackgroundReads::StartPreparing() {
  if (prepares_on_ == nullptr || !Enter(kPreparing)) {
    return;
  }
  if (pages_.BeginPreparing()) {
    SpawnOn(*prepares_on_, PrepareMemory());
  } else {
    Leave(kPreparing);
  }
}

Task<void> BackgroundReads::PrepareMemory() {
  pages_.Prepare();
  Leave(kPreparing);
  co_return;
}

Task<void> BackgroundReads::End() {
  if (state_.fetch_or(kEnded) != 0) {
    co_await idle_.Wait();
  }
}

}  // namespace varve
