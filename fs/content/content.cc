#include "fs/content/content.h"

#include <algorithm>
#include <cstring>

#include "engine/base/units.h"
#include "engine/ring/when_all.h"
#include "fs/namespace/namespace_format.h"

namespace varve {

namespace {

// From so many chunks on one walk costs less than a search for each: chunks that were written together lie
// together, and are read so.
constexpr uint64_t kChunksWorthAWalk = 4;
// Reads of so many bytes leave the block cache as it is: the kernel's page cache keeps what they give.
constexpr size_t kBulkReadBytes = 128 * kKiB;

// Copies the part of a stored chunk that begins at `skip` into `into`; what is not stored is zero.
Status CopyChunk(std::string_view stored, uint64_t skip, std::span<char> into, uint32_t chunk_bytes) {
  if (stored.size() > chunk_bytes) {
    return Corruption("a chunk is longer than chunks are");
  }
  const size_t have = skip < stored.size() ? std::min<size_t>(stored.size() - skip, into.size()) : 0;
  if (have > 0) {
    std::memcpy(into.data(), stored.data() + skip, have);
  }
  std::memset(into.data() + have, 0, into.size() - have);
  return {};
}

}  // namespace

uint64_t Content::BlocksOf(const Inode& inode) const {
  if (!inode.is_regular()) {
    return 0;
  }
  const uint64_t bytes =
      HasHoles(inode) && inode.chunked ? inode.chunk_count * format_.chunk_bytes : inode.size;
  return CeilDiv(std::min(bytes, inode.size), 512);
}

Task<Status> UnfinishedRead::Fill(Miss& miss) const {
  const Store::Lookup found = co_await miss.get->Finish();
  if (!found.ok()) {
    co_return found.error();
  }
  const std::string_view stored = *found ? (*found)->bytes() : std::string_view();
  co_return CopyChunk(stored, miss.skip, miss.into, chunk_bytes_);
}

Task<Result<size_t>> UnfinishedRead::Finish() {
  return misses_.empty() ? FinishOne() : FinishAll();
}

Task<Result<size_t>> UnfinishedRead::FinishOne() {
  const Store::Lookup found = co_await first_.get->Finish();
  if (!found.ok()) {
    co_return found.error();
  }
  const std::string_view stored = *found ? (*found)->bytes() : std::string_view();
  const Status copied = CopyChunk(stored, first_.skip, first_.into, chunk_bytes_);
  if (!copied.ok()) {
    co_return copied.error();
  }
  co_return length_;
}

Task<Result<size_t>> UnfinishedRead::FinishAll() {
  std::vector<Task<Status>> fills;
  fills.reserve(1 + misses_.size());
  fills.push_back(Fill(first_));
  for (Miss& miss : misses_) {
    fills.push_back(Fill(miss));
  }
  const Status read = co_await WhenAllOk(std::move(fills));
  if (!read.ok()) {
    co_return read.error();
  }
  co_return length_;
}

std::optional<Result<size_t>> Content::BeginRead(const Inode& inode, std::string_view content,
                                                 uint64_t offset, std::span<char> into,
                                                 const ReadOptions& options,
                                                 std::unique_ptr<UnfinishedRead>& rest) const {
  if (offset >= inode.size || into.empty()) {
    return size_t{0};
  }
  const size_t length = std::min<uint64_t>(into.size(), inode.size - offset);
  if (!inode.chunked) {
    std::memcpy(into.data(), content.data() + offset, length);
    return length;
  }
  const bool walks = ChunksTouched(offset, length) >= kChunksWorthAWalk;
  ReadOptions of_chunks = options;
  of_chunks.keeps_value = true;  // in the page cache, unless O_DIRECT says that it is not wanted there
  std::unique_ptr<UnfinishedRead> unfinished;
  const uint64_t chunk_bytes = format_.chunk_bytes;
  for (size_t done = 0; done < length;) {
    const uint64_t at = offset + done;
    const uint64_t skip = at % chunk_bytes;
    const size_t piece = std::min<uint64_t>(length - done, chunk_bytes - skip);
    const std::span<char> part = into.subspan(done, piece);
    const NamespaceKey key = NamespaceKey::Chunk(inode.number, ChunkOf(at));
    std::unique_ptr<Store::UnfinishedGet> get;
    const std::optional<Store::Lookup> found =
        walks ? store_.TryGet(key, of_chunks) : store_.BeginGet(key, of_chunks, get);
    if (found && !found->ok()) {
      return found->error();
    }
    if (found) {
      const std::string_view stored = **found ? (**found)->bytes() : std::string_view();
      const Status copied = CopyChunk(stored, skip, part, format_.chunk_bytes);
      if (!copied.ok()) {
        return copied.error();
      }
    } else if (walks) {
      return std::nullopt;
    } else {
      if (unfinished == nullptr) {
        unfinished = std::make_unique<UnfinishedRead>();
        unfinished->first_ = {std::move(get), skip, part};
      } else {
        unfinished->misses_.push_back({std::move(get), skip, part});
      }
    }
    done += piece;
  }
  if (unfinished == nullptr) {
    return length;
  }
  unfinished->length_ = length;
  unfinished->chunk_bytes_ = format_.chunk_bytes;
  rest = std::move(unfinished);
  return std::nullopt;
}

Task<Result<size_t>> Content::Read(const Inode& inode, std::string_view content, uint64_t offset,
                                   std::span<char> into, ReadOptions options) const {
  const size_t length = offset < inode.size ? std::min<uint64_t>(into.size(), inode.size - offset) : 0;
  if (inode.chunked && length > 0 && ChunksTouched(offset, length) >= kChunksWorthAWalk) {
    options.stretch_bytes = inode.size - offset;
    const Status walked = co_await ReadByWalk(inode.number, offset, into.first(length), options);
    if (!walked.ok()) {
      co_return walked.error();
    }
    co_return length;
  }
  std::unique_ptr<UnfinishedRead> rest;
  std::optional<Result<size_t>> read = BeginRead(inode, content, offset, into, options, rest);
  if (!read) {
    read = co_await rest->Finish();
  }
  co_return std::move(*read);
}

Task<Status> Content::ReadByWalk(InodeNumber inode, uint64_t offset, std::span<char> into,
                                 ReadOptions options) const {
  options.whole_range = true;
  options.keeps_value = into.size() >= kBulkReadBytes;
  const uint64_t chunk_bytes = format_.chunk_bytes;
  const uint64_t end = offset + into.size();
  const NamespaceKey lower = NamespaceKey::Chunk(inode, ChunkOf(offset));
  const NamespaceKey upper = NamespaceKey::Chunk(inode, ChunksIn(end));
  std::unique_ptr<StoreIterator> chunks = store_.NewIterator(lower, upper, options);
  if (chunks->Seek(lower) == Step::kNeedsIo) {
    co_await chunks->Load();
  }
  // What lies before it has been filled.
  uint64_t at = offset;
  while (chunks->Valid()) {
    const std::optional<ParsedKey> key = ParseNamespaceKey(chunks->key());
    if (!key) {
      co_return Corruption("a chunk's key does not decode");
    }
    const uint64_t begin = std::max(key->chunk_index * chunk_bytes, offset);
    const uint64_t stop = std::min((key->chunk_index + 1) * chunk_bytes, end);
    std::memset(into.data() + (at - offset), 0, begin - at);  // a hole
    const Status copied = CopyChunk(chunks->value(), begin % chunk_bytes,
                                    into.subspan(begin - offset, stop - begin), format_.chunk_bytes);
    if (!copied.ok()) {
      co_return copied;
    }
    at = stop;
    if (chunks->Next() == Step::kNeedsIo) {
      co_await chunks->Load();
    }
  }
  Status ended = chunks->status();
  if (!ended.ok()) {
    co_return ended;
  }
  std::memset(into.data() + (at - offset), 0, end - at);
  co_return Status();
}

Task<Status> Content::LoadChunk(InodeNumber inode, uint64_t index, std::string& chunk) const {
  chunk.clear();
  const NamespaceKey key = NamespaceKey::Chunk(inode, index);
  const Store::Lookup found = co_await store_.Get(key, ReadOptions());
  if (!found.ok()) {
    co_return found.error();
  }
  if (*found) {
    const std::string_view stored = (*found)->bytes();
    if (stored.size() > format_.chunk_bytes) {
      co_return Corruption("a chunk is longer than chunks are");
    }
    chunk.assign(stored);
  }
  co_return Status();
}

Task<Result<bool>> Content::ChunkExists(InodeNumber inode, uint64_t index) const {
  std::string chunk;
  Status loaded = co_await LoadChunk(inode, index, chunk);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  co_return !chunk.empty();
}

Task<Result<uint64_t>> Content::ScanChunks(InodeNumber inode, uint64_t from, uint64_t end, uint64_t limit,
                                           std::vector<uint64_t>* found) const {
  const NamespaceKey lower = NamespaceKey::Chunk(inode, from);
  const NamespaceKey upper = NamespaceKey::Chunk(inode, end);
  std::unique_ptr<StoreIterator> chunks = store_.NewIterator(lower, upper, ReadOptions());
  uint64_t count = 0;
  if (chunks->Seek(lower) == Step::kNeedsIo) {
    co_await chunks->Load();
  }
  while (chunks->Valid() && count < limit) {
    const std::optional<ParsedKey> key = ParseNamespaceKey(chunks->key());
    if (!key) {
      co_return Corruption("a chunk's key does not decode");
    }
    ++count;
    if (found != nullptr) {
      found->push_back(key->chunk_index);
    }
    if (chunks->Next() == Step::kNeedsIo) {
      co_await chunks->Load();
    }
  }
  Status ended = chunks->status();
  if (!ended.ok()) {
    co_return ended.error();
  }
  co_return count;
}

Task<Result<uint64_t>> Content::NextStored(const Inode& inode, uint64_t from, uint64_t to) const {
  if (!inode.chunked) {
    co_return from;
  }
  std::vector<uint64_t> next;
  const Result<uint64_t> found = co_await ScanChunks(inode.number, ChunkOf(from), ChunksIn(to), 1, &next);
  if (!found.ok()) {
    co_return found.error();
  }
  co_return next.empty() ? to : std::max(from, next.front() * format_.chunk_bytes);
}

Task<Result<uint64_t>> Content::Seek(const Inode& inode, uint64_t offset, SeekFor what) const {
  if (offset >= inode.size) {
    co_return Error(ErrorCode::kNoData, "beyond the end of the file");
  }
  if (!inode.chunked || !HasHoles(inode)) {
    co_return what == SeekFor::kData ? offset : inode.size;
  }
  const NamespaceKey lower = NamespaceKey::Chunk(inode.number, ChunkOf(offset));
  const NamespaceKey upper = NamespaceKey::Chunk(inode.number, ChunksIn(inode.size));
  std::unique_ptr<StoreIterator> chunks = store_.NewIterator(lower, upper, ReadOptions());
  uint64_t expected = ChunkOf(offset);
  if (chunks->Seek(lower) == Step::kNeedsIo) {
    co_await chunks->Load();
  }
  while (chunks->Valid()) {
    const std::optional<ParsedKey> key = ParseNamespaceKey(chunks->key());
    if (!key) {
      co_return Corruption("a chunk's key does not decode");
    }
    if (what == SeekFor::kData) {
      co_return std::max(offset, key->chunk_index * format_.chunk_bytes);
    }
    if (key->chunk_index != expected) {
      break;
    }
    ++expected;
    if (chunks->Next() == Step::kNeedsIo) {
      co_await chunks->Load();
    }
  }
  Status ended = chunks->status();
  if (!ended.ok()) {
    co_return ended.error();
  }
  if (what == SeekFor::kData) {
    co_return Error(ErrorCode::kNoData, "only a hole up to the end of the file");
  }
  co_return std::min(inode.size, std::max(offset, expected * format_.chunk_bytes));
}

}  // namespace varve
