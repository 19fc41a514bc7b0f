// The bytes of regular files: inline in the inode's record while they are few, else in chunk records.
//
// A file is chunked or inline. In a chunked file chunk i holds the bytes from i * chunk_bytes on; a missing
// chunk is a hole, and a chunk shorter than chunk_bytes ends in zeros that are not stored. Chunks at or
// beyond the end of the file do not exist, except those that a truncation in progress has left behind
// (PendingTruncations keeps them unread). inode.chunk_count is exact: as long as it says that there are no
// holes, nobody has to ask whether a chunk exists.
//
// The Stage… calls change a FileImage in memory and add chunk records to a batch; the caller adds the inode's
// record and writes the batch. They may wait for chunks that are overwritten in part. The caller holds the
// inode's lock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/units.h"
#include "engine/ring/frame_pool.h"
#include "engine/ring/task.h"
#include "engine/store/store.h"
#include "fs/namespace/inode.h"

namespace varve {

// A regular file's inode and, unless it is chunked, its bytes.
struct FileImage {
  Inode inode;
  std::string content;
};

// Where the zeros and the bytes are, for lseek.
enum class SeekFor : uint8_t { kData, kHole };

// What a truncation leaves to be deleted later: chunks from `from` up to, not including, `end`. Empty:
// nothing.
struct StaleChunks {
  uint64_t from = 0;
  uint64_t end = 0;
  bool empty() const { return from >= end; }
};

// A read that has to go on with reads of the device, as Store::UnfinishedGet does: it answers as of its
// beginning.
class UnfinishedRead : public ShortLived {
 public:
  // Once. The object, and the memory that the read fills, must outlive the Task.
  Task<Result<size_t>> Finish();

 private:
  friend class Content;

  struct Miss {
    std::unique_ptr<Store::UnfinishedGet> get;
    uint64_t skip;
    std::span<char> into;
  };
  Task<Status> Fill(Miss& miss) const;
  Task<Result<size_t>> FinishOne();
  Task<Result<size_t>> FinishAll();

  // Nearly always there is one, which costs no vector.
  Miss first_ = {};
  std::vector<Miss> misses_;
  size_t length_ = 0;
  uint32_t chunk_bytes_ = 0;
};

// Any thread; one caller at a time an inode for the Stage… calls.
class Content {
 public:
  // Deletions in one batch: the key and its overhead take some 20 bytes each, a small part of the largest
  // batch; and what a truncation deletes at once before it leaves the rest to the background.
  static constexpr uint64_t kDeletesPerBatch = 512;
  // From so many chunks of one file on, a record that deletes their range takes the place of one each. A
  // range is looked at by reads until what it held is gone: it has to stand for a good part of a table's
  // block each.
  static constexpr uint64_t kChunksWorthARange = 32;
  // StagePunch takes at most so many chunks at a time: two may have to be rewritten, the others are deleted.
  static constexpr uint64_t kPunchChunksMax = 512;

  Content(Store& store, FormatParameters format) : store_(store), format_(format) {}

  const FormatParameters& format() const { return format_; }
  uint64_t ChunkOf(uint64_t offset) const { return offset / format_.chunk_bytes; }
  // How many chunks a file of `size` bytes spans.
  uint64_t ChunksIn(uint64_t size) const { return CeilDiv(size, format_.chunk_bytes); }
  // Of a file in chunks: whether some of those that it spans are not there.
  bool HasHoles(const Inode& inode) const { return inode.chunk_count < ChunksIn(inode.size); }
  // Deletes the `count` chunks that [from, end) holds: `indexes` of them, or, nullptr, the first ones. Few
  // one by one, many as a range. An `end` of UINT64_MAX: all from `from` on.
  static void StageDeletes(InodeNumber inode, uint64_t from, uint64_t end, uint64_t count,
                           const uint64_t* indexes, WriteBatch& batch);
  // st_blocks: 512-byte blocks that hold bytes.
  uint64_t BlocksOf(const Inode& inode) const;

  // Bytes from `offset` into `into`, up to the end of the file, where memory has them. `content` is the
  // inline content, if any. Where the device must be asked, and few chunks for it, `rest` becomes the read as
  // it stands; else it stays empty: then Read is to be asked.
  std::optional<Result<size_t>> BeginRead(const Inode& inode, std::string_view content, uint64_t offset,
                                          std::span<char> into, const ReadOptions& options,
                                          std::unique_ptr<UnfinishedRead>& rest) const;
  // The same from memory or the device: few chunks all at once, many in a row by a walk. What is named must
  // outlive the Task.
  Task<Result<size_t>> Read(const Inode& inode, std::string_view content, uint64_t offset,
                            std::span<char> into, ReadOptions options) const;

  // Precondition: offset + data.size() is at most the largest file, data at most 1 MiB.
  Task<Status> StageWrite(FileImage& file, uint64_t offset, std::string_view data, WriteBatch& batch) const;
  // Sets the size. What must be deleted beyond what fits in the batch is in `stale`.
  Task<Status> StageTruncate(FileImage& file, uint64_t size, WriteBatch& batch, StaleChunks& stale) const;
  // Makes [from, to) a hole, as far as the file reaches. Precondition: it touches at most kPunchChunksMax
  // chunks, or the file is inline.
  Task<Status> StagePunch(FileImage& file, uint64_t from, uint64_t to, WriteBatch& batch) const;

  // Where the next chunk that is stored begins to matter: the first byte at or after `from` that lies in one;
  // `to` when none does before. A file that is not chunked answers `from`.
  Task<Result<uint64_t>> NextStored(const Inode& inode, uint64_t from, uint64_t to) const;

  // The first byte of data, or of a hole (the end of the file is one), at or after `offset`. kNoData when
  // there is none.
  Task<Result<uint64_t>> Seek(const Inode& inode, uint64_t offset, SeekFor what) const;

 private:
  // Fills `chunk` with the stored bytes of one chunk; empty when there is none.
  Task<Status> LoadChunk(InodeNumber inode, uint64_t index, std::string& chunk) const;
  // Of a chunked file, all within its size, in one walk over the chunks.
  Task<Status> ReadByWalk(InodeNumber inode, uint64_t offset, std::span<char> into,
                          ReadOptions options) const;
  uint64_t ChunksTouched(uint64_t offset, size_t bytes) const {
    return ChunkOf(offset + bytes - 1) - ChunkOf(offset) + 1;
  }
  Task<Result<bool>> ChunkExists(InodeNumber inode, uint64_t index) const;
  Task<Status> StageChunkedWrite(FileImage& file, uint64_t offset, std::string_view data,
                                 WriteBatch& batch) const;
  // Puts the inline content into chunks, except those in [except_from, except_end), which the caller puts;
  // the inode is chunked afterwards, and the content is left to the caller.
  void StageConversion(FileImage& file, WriteBatch& batch, uint64_t except_from, uint64_t except_end) const;
  Task<Status> StageShrink(FileImage& file, uint64_t size, WriteBatch& batch, StaleChunks& stale) const;
  // How many chunks exist in [from, end), counting up to `limit`; their indexes go to `found` unless that is
  // nullptr.
  Task<Result<uint64_t>> ScanChunks(InodeNumber inode, uint64_t from, uint64_t end, uint64_t limit,
                                    std::vector<uint64_t>* found) const;

  Store& store_;
  const FormatParameters format_;
};

}  // namespace varve
