// BackgroundReads: reads of blocks that nobody waits for yet. They go on whatever becomes of the walk that
// began them, and what they bring enters the cache; who misses one of the blocks meanwhile waits for it, as
// for any read under way (BlockCache::JoinRead).
//
// Threads: any; a read goes on on the executor that started it. What is read may be a table that is given up
// meanwhile: then the bytes are another's, fail their checks, and nobody asks for them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/cache/passing_pages.h"
#include "engine/cache/read_pages.h"
#include "engine/ring/async_event.h"
#include "engine/table/block_reader.h"
#include "engine/table/passing_read.h"
#include "engine/table/read_streams.h"
#include "engine/table/table_environment.h"

namespace varve {

class BackgroundReads {
 public:
  // Of one read.
  static constexpr uint64_t kReadBytesMax = 256 * kKiB;
  // Of all that are under way.
  static constexpr uint64_t kBytesMax = 8 * kMiB;

  // `cache_bytes`: what the cache may hold.
  explicit BackgroundReads(uint64_t cache_bytes) : pages_(cache_bytes), passing_pages_(cache_bytes) {}
  BackgroundReads(const BackgroundReads&) = delete;
  BackgroundReads& operator=(const BackgroundReads&) = delete;
  // Precondition: none is under way.
  ~BackgroundReads();

  // Begins to read blocks that lie one behind the other, those of them that nobody else is reading. False:
  // too much is under way, it has ended, or no executor runs the caller. `environment` must outlive End();
  // `view` only this call. Precondition: each handle fits the view; not empty.
  bool Start(const TableEnvironment& environment, const TableView& view, std::span<const BlockHandle> handles,
             BlockKind kind, IoPurpose purpose);
  // Begins to read `bytes` of the table from `start` on, for a walk that waits for them and drops them: they
  // do not enter the cache. nullptr: as false above, or the table does not hold them. Both numbers are
  // multiples of the sector; `environment` must outlive End().
  std::shared_ptr<PassingRead> StartPassing(const TableEnvironment& environment, const TableView& view,
                                            uint64_t start, uint64_t bytes, IoPurpose purpose);
  // What was read ahead and holds all of the block; nullptr: nothing was.
  std::shared_ptr<PassingRead> FindAhead(TableId table, const BlockHandle& block) const {
    return streams_.Find(table, block);
  }
  // The table is being read in `range`, by a walk whose blocks pass. Where it follows another, what lies
  // behind it is read ahead, up to `until`, as long as there are pages to read into. Its blocks have about
  // `block_bytes`.
  void ReadOn(const TableEnvironment& environment, const TableView& view, ReadStreams::Range range,
              uint64_t until, uint32_t block_bytes, IoPurpose purpose);
  // From now on memory for the next reads is made ready on `executor`, which has nothing better to do. Before
  // any read begins.
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
  std::shared_ptr<PassingRead> StartPieces(BlockDevice& device, std::shared_ptr<PassingRead> read,
                                           IoPurpose purpose);
  Task<void> RunPiece(BlockDevice& device, std::shared_ptr<PassingRead> read, size_t piece,
                      IoPurpose purpose);
  static Task<Status> Fill(BlockDevice& device, const Read& read, std::span<std::byte> into);
  // Where no page is ready for what is read next.
  void StartPreparing();
  // Precondition: Enter(kPreparing), and pages_.BeginPreparing().
  Task<void> PrepareMemory();
  bool Enter(uint64_t bytes);
  void Leave(uint64_t bytes);

  // Above all bytes that can be under way.
  static constexpr uint64_t kEnded = uint64_t{1} << 63;
  // What preparing memory counts as.
  static constexpr uint64_t kPreparing = 1;
  // The same of a piece that somebody waits for: how many there can be is for those who wait.
  static constexpr uint64_t kPassing = 1;

  Executor* prepares_on_ = nullptr;
  ReadPages pages_;
  PassingPages passing_pages_;
  ReadStreams streams_;
  // Bytes under way, and kEnded: one number, so that who ends last touches nothing of this after it has said
  // so.
  std::atomic<uint64_t> state_{0};
  AsyncEvent idle_;
};

}  // namespace varve
