#include "fs/ops/name_damage.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "fs/namespace/namespace_format.h"
#include "fs/ops/find_names.h"

namespace varve {

namespace {

// A file that spans more chunks may be all holes: it is only walked over.
constexpr uint64_t kChunksTriedMax = uint64_t{1} << 26;

// Sorted and disjoint.
std::vector<KeyRange> Joined(std::vector<KeyRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const KeyRange& a, const KeyRange& b) { return a.smallest < b.smallest; });
  std::vector<KeyRange> joined;
  for (KeyRange& range : ranges) {
    if (!joined.empty() && range.smallest <= joined.back().largest) {
      ExtendToCover(joined.back(), range);
    } else {
      joined.push_back(std::move(range));
    }
  }
  return joined;
}

class DamageNamer {
 public:
  DamageNamer(Store& store, std::vector<KeyRange> ranges, DamageSink& sink)
      : store_(store), ranges_(Joined(std::move(ranges))), sink_(sink) {}

  Task<Status> Run() {
    Result<FoundNames> found = co_await FindNames(store_, [this](InodeNumber inode) {
      return MeetsAny(NamespaceKind::kInode, inode) || MeetsAny(NamespaceKind::kChunk, inode) ||
             MeetsAny(NamespaceKind::kXattr, inode);
    });
    if (!found.ok()) {
      co_return found.error();
    }
    found_ = std::move(*found);
    Status status = co_await FindChunkBytes();
    for (size_t i = 0; status.ok() && i < ranges_.size(); ++i) {
      NameDirectories(ranges_[i]);
    }
    for (auto named = found_.names.begin(); status.ok() && named != found_.names.end(); ++named) {
      status = co_await NameInode(named->first);
    }
    if (status.ok()) {
      status = co_await NameRest();
    }
    co_return status;
  }

 private:
  // The first range that ends at or behind `key`.
  std::vector<KeyRange>::const_iterator RangeAt(std::string_view key) const {
    return std::lower_bound(ranges_.begin(), ranges_.end(), key,
                            [](const KeyRange& range, std::string_view k) { return range.largest < k; });
  }
  bool MeetsAny(NamespaceKind kind, InodeNumber inode) const {
    const NamespaceKey lower = NamespaceKey::Prefix(kind, inode);
    const auto range = RangeAt(lower);
    return range != ranges_.end() && range->smallest < NamespaceKey::End(kind, inode).view();
  }

  // Names themselves cannot be known: between which they lie can.
  void NameDirectories(const KeyRange& range) {
    const auto kind = static_cast<uint8_t>(NamespaceKind::kDirent);
    const NamespaceKey lower = NamespaceKey::KindStart(kind);
    const NamespaceKey upper = NamespaceKey::KindStart(static_cast<uint8_t>(kind + 1));
    if (range.largest < lower.view() || range.smallest >= upper.view()) {
      return;
    }
    const std::optional<ParsedKey> from = ParseNamespaceKey(range.smallest);
    const std::optional<ParsedKey> to = ParseNamespaceKey(range.largest);
    const bool ends_in_names = to && to->kind == NamespaceKind::kDirent;
    const InodeNumber first = from ? from->inode : InodeNumber(0);
    const InodeNumber last = ends_in_names ? to->inode : InodeNumber(UINT64_MAX);
    const std::string from_name(from ? from->name : std::string_view());
    if (ends_in_names && first == last) {
      const std::string part = from_name == to->name
                                   ? fmt::format("the name \"{}\"", from_name)
                                   : fmt::format("names from \"{}\" to \"{}\"", from_name, to->name);
      sink_.Damaged(found_.paths.PathOfDirectory(first), part);
      return;
    }
    if (from) {
      sink_.Damaged(found_.paths.PathOfDirectory(first), fmt::format("names from \"{}\" on", from_name));
    }
    for (const InodeNumber between : found_.paths.Between(InodeNumber(first.value + 1), last)) {
      if (between != last) {
        sink_.Damaged(found_.paths.PathOfDirectory(between), "its names");
      }
    }
    if (ends_in_names) {
      sink_.Damaged(found_.paths.PathOfDirectory(last), fmt::format("names up to \"{}\"", to->name));
    }
  }

  // What the chunks are reckoned in; the default where even that cannot be read.
  Task<Status> FindChunkBytes() {
    const Store::Lookup format = co_await store_.Get(kFormatKey, ReadOptions());
    if (format.Is(ErrorCode::kDeviceError)) {
      co_return format.error();
    }
    if (format.ok() && *format) {
      const Result<FormatParameters> parameters = DecodeFormat((*format)->bytes());
      chunk_bytes_ = parameters.ok() ? parameters->chunk_bytes : chunk_bytes_;
    }
    co_return OkStatus();
  }

  Task<Status> NameInode(InodeNumber inode) {
    const std::string path = found_.PathOf(inode);
    Result<bool> bad = co_await CannotRead(std::string(NamespaceKey::OfInode(inode).view()));
    if (bad.ok() && *bad) {
      sink_.Damaged(path, "its inode: owner, permissions, times, and where its content lies");
    }
    if (bad.ok()) {
      bad = co_await NameChunks(inode, path);
    }
    if (bad.ok() && MeetsAny(NamespaceKind::kXattr, inode)) {
      bad = co_await CannotWalk(NamespaceKey::Prefix(NamespaceKind::kXattr, inode),
                                NamespaceKey::End(NamespaceKind::kXattr, inode));
      if (bad.ok() && *bad) {
        sink_.Damaged(path, "extended attributes");
      }
    }
    co_return bad.status();
  }

  // Every chunk in the ranges, one by one: neighbours that cannot be read make one message.
  Task<Result<bool>> NameChunks(InodeNumber inode, const std::string& path) {
    const Result<uint64_t> end = co_await ChunkEnd(inode);
    if (!end.ok()) {
      co_return end.error();
    }
    if (*end > kChunksTriedMax) {
      Result<bool> bad = co_await CannotWalk(NamespaceKey::Prefix(NamespaceKind::kChunk, inode),
                                             NamespaceKey::End(NamespaceKind::kChunk, inode));
      if (bad.ok() && *bad) {
        sink_.Damaged(path, "some of its bytes");
      }
      co_return bad;
    }
    std::optional<std::pair<uint64_t, uint64_t>> run;
    uint64_t index = 0;
    while (index < *end) {
      const NamespaceKey key = NamespaceKey::Chunk(inode, index);
      const auto range = RangeAt(key);
      const NamespaceKey behind = NamespaceKey::End(NamespaceKind::kChunk, inode);
      if (range == ranges_.end() || range->smallest >= behind.view()) {
        break;
      }
      if (range->smallest > key.view()) {
        const std::optional<ParsedKey> next = ParseNamespaceKey(range->smallest);
        index = next && next->kind == NamespaceKind::kChunk ? next->chunk_index : *end;
        continue;
      }
      const Result<bool> bad = co_await CannotRead(std::string(key.view()));
      if (!bad.ok()) {
        co_return bad;
      }
      if (*bad && run && run->second == index) {
        run->second = index + 1;
      } else if (*bad) {
        ReportRun(path, run);
        run = {index, index + 1};
      }
      ++index;
    }
    ReportRun(path, run);
    co_return false;
  }

  void ReportRun(const std::string& path, const std::optional<std::pair<uint64_t, uint64_t>>& run) {
    if (run) {
      sink_.Damaged(path,
                    fmt::format("bytes {} to {}", run->first * chunk_bytes_, run->second * chunk_bytes_ - 1));
    }
  }

  // Where the file's chunks end, from its inode; where that cannot be read, from the ranges alone.
  Task<Result<uint64_t>> ChunkEnd(InodeNumber inode) {
    if (!MeetsAny(NamespaceKind::kChunk, inode)) {
      co_return uint64_t{0};
    }
    const FoundName& name = found_.names.at(inode).front();
    const NamespaceKey key =
        name.embedded ? NamespaceKey::Dirent(name.parent, name.name) : NamespaceKey::OfInode(inode);
    const Store::Lookup record = co_await store_.Get(key, ReadOptions());
    if (record.Is(ErrorCode::kDeviceError)) {
      co_return record.error();
    }
    std::optional<Inode> known;
    if (record.ok() && *record) {
      const std::string_view bytes = (*record)->bytes();
      if (name.embedded) {
        const Result<DirentRecord> dirent = DecodeDirent(bytes);
        known = dirent.ok() && dirent->embedded ? std::optional(dirent->embedded->inode) : std::nullopt;
      } else {
        const Result<InodeRecord> decoded = DecodeInode(bytes);
        known = decoded.ok() ? std::optional(decoded->inode) : std::nullopt;
      }
    }
    if (!known) {
      co_return LastChunkInRanges(inode);
    }
    co_return known->chunked ? CeilDiv(known->size, chunk_bytes_) : 0;
  }

  uint64_t LastChunkInRanges(InodeNumber inode) const {
    const NamespaceKey end = NamespaceKey::End(NamespaceKind::kChunk, inode);
    uint64_t last = 0;
    for (auto range = RangeAt(NamespaceKey::Prefix(NamespaceKind::kChunk, inode));
         range != ranges_.end() && range->smallest < end.view(); ++range) {
      for (const std::string& key : {range->smallest, range->largest}) {
        const std::optional<ParsedKey> parsed = ParseNamespaceKey(key);
        if (parsed && parsed->kind == NamespaceKind::kChunk && parsed->inode == inode) {
          last = std::max(last, parsed->chunk_index + 1);
        }
      }
    }
    return last;
  }

  // What has no name.
  Task<Status> NameRest() {
    for (const std::string_view key : {kFormatKey, kInodeCounterKey}) {
      const Result<bool> bad = co_await CannotRead(std::string(key));
      if (!bad.ok()) {
        co_return bad.error();
      }
      if (*bad) {
        sink_.Damaged("/", key == kFormatKey ? "the record of the filesystem's format"
                                             : "the counter of inode numbers");
      }
    }
    const NamespaceKey orphans = NamespaceKey::KindStart(static_cast<uint8_t>(NamespaceKind::kOrphan));
    const NamespaceKey behind = NamespaceKey::KindStart(static_cast<uint8_t>(NamespaceKind::kOrphan) + 1);
    const auto range = RangeAt(orphans);
    if (range == ranges_.end() || range->smallest >= behind.view()) {
      co_return OkStatus();
    }
    const Result<bool> bad = co_await CannotWalk(orphans, behind);
    if (bad.ok() && *bad) {
      sink_.Damaged("/", "records of removed files whose space is still to be freed");
    }
    co_return bad.status();
  }

  Task<Result<bool>> CannotRead(std::string key) {
    const auto range = RangeAt(key);
    if (range == ranges_.end() || range->smallest > key) {
      co_return false;
    }
    ReadOptions read;
    read.fill_cache = false;
    const Store::Lookup found = co_await store_.Get(key, read);
    if (found.Is(ErrorCode::kDeviceError)) {
      co_return found.error();
    }
    co_return !found.ok();
  }

  Task<Result<bool>> CannotWalk(NamespaceKey lower, NamespaceKey upper) {
    ReadOptions read;
    read.fill_cache = false;
    const std::unique_ptr<StoreIterator> records = store_.NewIterator(lower, upper, read);
    for (Step step = records->Seek(lower);; step = records->Next()) {
      if (step == Step::kNeedsIo) {
        co_await records->Load();
      }
      if (!records->Valid()) {
        break;
      }
    }
    if (records->status().Is(ErrorCode::kDeviceError)) {
      co_return records->status().error();
    }
    co_return !records->status().ok();
  }

  Store& store_;
  const std::vector<KeyRange> ranges_;
  DamageSink& sink_;
  FoundNames found_;
  uint32_t chunk_bytes_ = FormatParameters().chunk_bytes;
};

}  // namespace

Task<Status> NameDamage(Store& store, std::vector<KeyRange> ranges, DamageSink& sink) {
  DamageNamer namer(store, std::move(ranges), sink);
  co_return co_await namer.Run();
}

}  // namespace varve
