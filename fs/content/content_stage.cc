// The half of Content that changes files.
#include <algorithm>
#include <cstring>

#include "engine/base/units.h"
#include "fs/content/content.h"
#include "fs/namespace/namespace_format.h"

namespace varve {

Task<Status> Content::StageWrite(FileImage& file, uint64_t offset, std::string_view data,
                                 WriteBatch& batch) const {
  Inode& inode = file.inode;
  const uint64_t end = offset + data.size();
  if (data.empty()) {
    co_return Status();
  }
  if (inode.chunked || std::max(end, inode.size) > format_.inline_bytes_max) {
    co_return co_await StageChunkedWrite(file, offset, data, batch);
  }
  if (file.content.size() < end) {
    file.content.resize(end);
  }
  std::memcpy(file.content.data() + offset, data.data(), data.size());
  inode.size = file.content.size();
  co_return Status();
}

void Content::StageConversion(FileImage& file, WriteBatch& batch, uint64_t except_from,
                              uint64_t except_end) const {
  Inode& inode = file.inode;
  const std::string_view content = file.content;
  for (uint64_t index = 0; index < ChunksIn(content.size()); ++index) {
    if (index < except_from || index >= except_end) {
      batch.Put(NamespaceKey::Chunk(inode.number, index),
                content.substr(index * format_.chunk_bytes, format_.chunk_bytes));
    }
  }
  inode.chunked = true;
  inode.chunk_count = ChunksIn(content.size());
}

Task<Status> Content::StageChunkedWrite(FileImage& file, uint64_t offset, std::string_view data,
                                        WriteBatch& batch) const {
  Inode& inode = file.inode;
  const uint64_t chunk_bytes = format_.chunk_bytes;
  const uint64_t end = offset + data.size();
  const uint64_t old_size = inode.size;
  const bool converting = !inode.chunked;
  if (converting) {
    StageConversion(file, batch, ChunkOf(offset), ChunksIn(end));
  }
  const bool had_holes = HasHoles(inode);
  std::string chunk;
  for (uint64_t at = offset; at < end;) {
    const uint64_t index = ChunkOf(at);
    const uint64_t begin = index * chunk_bytes;
    const uint64_t skip = at - begin;
    const uint64_t piece = std::min(end - at, chunk_bytes - skip);
    // How much of the chunk lies below the old end of the file: what a partial overwrite has to keep.
    const uint64_t valid = old_size > begin ? std::min(old_size - begin, chunk_bytes) : 0;
    const bool needs_old = valid > 0 && (skip > 0 || skip + piece < valid);
    const std::string_view bytes = data.substr(at - offset, piece);
    bool existed = valid > 0;
    chunk.clear();
    if (converting && valid > 0) {
      chunk = file.content.substr(begin, chunk_bytes);
    } else if (needs_old) {
      Status loaded = co_await LoadChunk(inode.number, index, chunk);
      if (!loaded.ok()) {
        co_return loaded;
      }
      existed = !chunk.empty();
    } else if (existed && had_holes) {
      Result<bool> exists = co_await ChunkExists(inode.number, index);
      if (!exists.ok()) {
        co_return exists.error();
      }
      existed = *exists;
    }
    inode.chunk_count += existed ? 0 : 1;
    if (skip == 0 && piece >= valid) {
      batch.Put(NamespaceKey::Chunk(inode.number, index), bytes);
    } else {
      chunk.resize(std::max<uint64_t>(std::min<uint64_t>(chunk.size(), valid), skip + piece));
      std::memcpy(chunk.data() + skip, bytes.data(), bytes.size());
      batch.Put(NamespaceKey::Chunk(inode.number, index), chunk);
    }
    at += piece;
  }
  file.content.clear();
  inode.size = std::max(old_size, end);
  co_return Status();
}

Task<Status> Content::StageTruncate(FileImage& file, uint64_t size, WriteBatch& batch,
                                    StaleChunks& stale) const {
  Inode& inode = file.inode;
  stale = {};
  if (inode.chunked && size < inode.size) {
    co_return co_await StageShrink(file, size, batch, stale);
  }
  if (!inode.chunked && size <= std::max<uint64_t>(format_.inline_bytes_max, inode.size)) {
    file.content.resize(size);
  } else if (!inode.chunked) {
    StageConversion(file, batch, 0, 0);
    file.content.clear();
  }
  inode.size = size;
  co_return Status();
}

void Content::StageDeletes(InodeNumber inode, uint64_t from, uint64_t end, uint64_t count,
                           const uint64_t* indexes, WriteBatch& batch) {
  if (count >= kChunksWorthARange) {
    batch.DeleteRange(NamespaceKey::Chunk(inode, from), end == UINT64_MAX
                                                            ? NamespaceKey::End(NamespaceKind::kChunk, inode)
                                                            : NamespaceKey::Chunk(inode, end));
    return;
  }
  for (uint64_t i = 0; i < count; ++i) {
    batch.Delete(NamespaceKey::Chunk(inode, indexes != nullptr ? indexes[i] : from + i));
  }
}

Task<Status> Content::StageShrink(FileImage& file, uint64_t size, WriteBatch& batch,
                                  StaleChunks& stale) const {
  Inode& inode = file.inode;
  const uint64_t keep = ChunksIn(size);
  const uint64_t old_end = ChunksIn(inode.size);
  const bool had_holes = HasHoles(inode);
  uint64_t tail_chunks = old_end - keep;
  std::vector<uint64_t> tail;
  if (had_holes && tail_chunks > 0) {
    Result<uint64_t> found = co_await ScanChunks(inode.number, keep, old_end, kDeletesPerBatch + 1, &tail);
    if (!found.ok()) {
      co_return found.error();
    }
    tail_chunks = *found;
  }
  if (tail_chunks > kDeletesPerBatch) {
    stale = {keep, old_end};
  } else {
    StageDeletes(inode.number, keep, old_end, tail_chunks, had_holes ? tail.data() : nullptr, batch);
  }
  if (size == 0) {
    inode.chunked = false;
    inode.chunk_count = 0;
  } else if (stale.empty()) {
    inode.chunk_count -= std::min(inode.chunk_count, tail_chunks);
  } else if (!had_holes) {
    inode.chunk_count = keep;
  } else {
    Result<uint64_t> kept = co_await ScanChunks(inode.number, 0, keep, UINT64_MAX, nullptr);
    if (!kept.ok()) {
      co_return kept.error();
    }
    inode.chunk_count = *kept;
  }
  inode.size = size;
  const uint64_t remainder = size % format_.chunk_bytes;
  if (remainder != 0) {
    // The bytes beyond the new end must read as zeros if the file grows again.
    std::string chunk;
    Status loaded = co_await LoadChunk(inode.number, keep - 1, chunk);
    if (!loaded.ok()) {
      co_return loaded;
    }
    if (chunk.size() > remainder) {
      chunk.resize(remainder);
      batch.Put(NamespaceKey::Chunk(inode.number, keep - 1), chunk);
    }
  }
  co_return Status();
}

Task<Status> Content::StagePunch(FileImage& file, uint64_t from, uint64_t to, WriteBatch& batch) const {
  Inode& inode = file.inode;
  to = std::min(to, inode.size);
  if (from >= to) {
    co_return Status();
  }
  if (!inode.chunked) {
    std::memset(file.content.data() + from, 0, to - from);
    co_return Status();
  }
  const uint64_t chunk_bytes = format_.chunk_bytes;
  std::vector<uint64_t> existing;
  Result<uint64_t> found =
      co_await ScanChunks(inode.number, ChunkOf(from), ChunksIn(to), UINT64_MAX, &existing);
  if (!found.ok()) {
    co_return found.error();
  }
  for (const uint64_t index : existing) {
    const uint64_t begin = index * chunk_bytes;
    const uint64_t end = std::min(begin + chunk_bytes, inode.size);
    if (from <= begin && to >= end) {
      batch.Delete(NamespaceKey::Chunk(inode.number, index));
      inode.chunk_count -= inode.chunk_count > 0 ? 1 : 0;
      continue;
    }
    std::string chunk;
    Status loaded = co_await LoadChunk(inode.number, index, chunk);
    if (!loaded.ok()) {
      co_return loaded;
    }
    const uint64_t first = from > begin ? from - begin : 0;
    const uint64_t last = std::min<uint64_t>(to - begin, chunk.size());
    if (first >= last) {
      continue;  // zeros that are not stored
    }
    std::memset(chunk.data() + first, 0, last - first);
    batch.Put(NamespaceKey::Chunk(inode.number, index), chunk);
  }
  co_return Status();
}

}  // namespace varve
