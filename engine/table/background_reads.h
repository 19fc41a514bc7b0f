// BackgroundReads: reads of blocks that nobody waits for yet. They go on whatever becomes of the walk that
// began them, and what they bring enters the cache; who misses one of the blocks meanwhile waits for it, as
// for any read under way (BlockCache::JoinRead).
//
// Threads: any; a read goes on on the executor that started it. What is read may be a table that is given up
// meanwhile: then the bytes are another's, fail their checks, and nobody asks for them.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/cache/read_pages.h"
#include "engine/ring/async_event.h"
#include "engine/table/block_reader.h"
#include "engine/table/table_environment.h"

namespace varve {

class BackgroundReads {
 public:
  // Of one read.
  static constexpr uint64_t kReadBytesMax = 256 * kKiB;
  // Of all that are under way.
  static constexpr uint64_t kBytesMax = 8 * kMiB;

  // `cache_bytes`: what the cache may hold.
  explicit BackgroundReads(uint64_t cache_bytes) : pages_(cache_bytes) {}
  BackgroundReads(const BackgroundReads&) = delete;
  BackgroundReads& operator=(const BackgroundReads&) = delete;
  // Precondition: none is under way.
  ~BackgroundReads();

  // Begins to read blocks that lie one behind the other, those of them that nobody else is reading. False:
  // too much is under way, it has ended, or no executor runs the caller. `environment` must outlive End();
  // `view` only this call. Precondition: each handle fits the view; not empty.
  bool Start(const TableEnvironment& environment, const TableView& view, std::span<const BlockHandle> handles,
             BlockKind kind, IoPurpose purpose);
  // Makes memory for reads ready on `executor`, which has nothing better to do.
  void PrepareMemoryOn(Executor& executor);
  // Begins no more, and waits for those under way. Once.
  Task<void> End();

 private:
  // A block to be read, and what its readers wait for.
  struct Wanted {
    BlockHandle handle;
    BlockCache::ReadTicket ticket;
  };
  struct Read {
    TableId table;
    BlockKind kind;
    IoPurpose purpose;
    uint64_t start = 0;
    uint64_t bytes = 0;
    std::vector<DevicePiece> pieces;
    std::vector<Wanted> wanted;
  };

  Task<void> Run(const TableEnvironment& environment, Read read);
  static Task<Status> Fill(BlockDevice& device, const Read& read, std::span<std::byte> into);
  // Precondition: Enter(kPreparing).
  Task<void> PrepareMemory();
  bool Enter(uint64_t bytes);
  void Leave(uint64_t bytes);

  // Above all bytes that can be under way.
  static constexpr uint64_t kEnded = uint64_t{1} << 63;
  // What preparing memory counts as.
  static constexpr uint64_t kPreparing = 1;

  ReadPages pages_;
  // Bytes under way, and kEnded: one number, so that who ends last touches nothing of this after it has said
  // so.
  std::atomic<uint64_t> state_{0};
  AsyncEvent idle_;
};

}  // namespace varve
