#include "tests/fs/ops/live_bytes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/cache/block_cache.h"
#include "engine/space/layout.h"
#include "engine/space/superblock_format.h"
#include "engine/table/block_reader.h"
#include "engine/table/segment_footer.h"
#include "engine/table/table_format.h"
#include "engine/wal/wal_reader.h"

namespace varve {

namespace {

class Finder {
 public:
  explicit Finder(BlockDevice& device) : device_(device) {}

  Task<Result<LiveBytes>> Run() {
    Result<StoreAtRest> store = co_await ReadStoreAtRest(device_, nullptr);
    if (!store.ok()) {
      co_return store.error();
    }
    live_.store = std::move(*store);
    const Result<Layout> layout = Layout::ForDevice(live_.store.superblock.device_bytes);
    for (const DeviceOffset copy : layout->superblock_offsets()) {
      Add(copy.value, copy.value + superblock_format::kBytes, BytesOf::kSuperblock);
    }
    AddManifest();
    Status status = co_await AddLog();
    live_.store.manifest.version.ForEachSharedTable(
        [this](const std::shared_ptr<const LiveTable>& table) { live_.tables.push_back(table); });
    for (size_t i = 0; status.ok() && i < live_.tables.size(); ++i) {
      status = co_await AddTable(i);
    }
    if (!status.ok()) {
      co_return status.error();
    }
    co_return std::move(live_);
  }

 private:
  void Add(uint64_t begin, uint64_t end, BytesOf what, size_t table = 0, std::string smallest = {},
           std::string largest = {}) {
    live_.ranges[begin] = {begin, end, what, table, std::move(smallest), std::move(largest)};
  }

  void AddManifest() {
    uint64_t left = live_.store.manifest.end;
    for (const Extent& extent : live_.store.superblock.manifest.extents) {
      const uint64_t bytes = std::min(left, extent.bytes());
      if (bytes != 0) {
        Add(extent.offset().value, extent.offset().value + bytes, BytesOf::kManifest);
      }
      left -= bytes;
    }
  }

  Task<Status> AddLog() {
    if (live_.store.manifest.version.counters().clean) {
      co_return OkStatus();
    }
    struct Group {
      uint64_t begin;
      uint64_t end;
      uint64_t lsn;
      uint64_t epoch;
    };
    std::vector<Group> groups;
    uint64_t flushed = 0;
    WalReader reader(device_, WalOptionsOf(live_.store));
    while (true) {
      const Result<std::optional<WalGroup>> group = co_await reader.Next();
      if (!group.ok()) {
        co_return group.error();
      }
      if (!group->has_value()) {
        break;
      }
      const WalGroup& found = **group;
      const uint64_t begin = found.segment.extent.offset().value + found.position;
      groups.push_back({begin, begin + WalGroupHeader::kBytes + found.header.payload_bytes,
                        found.header.lsn.value, found.header.epoch.value});
      flushed = std::max(flushed, found.header.flushed_lsn.value);
    }
    for (const Group& group : groups) {
      // A group of an older epoch is proved by the newer one's beginning.
      const bool proved = group.lsn <= flushed || group.epoch < groups.back().epoch;
      Add(group.begin, group.end, proved ? BytesOf::kLogGroup : BytesOf::kLogTail);
    }
    co_return OkStatus();
  }

  void AddBlock(size_t table, const BlockHandle& handle, BytesOf what, std::string smallest,
                std::string largest) {
    // A block may lie across a jump between extents.
    uint64_t from = handle.table_offset;
    for (const TableExtent& part : live_.tables[table]->view().extents) {
      const uint64_t part_end = part.table_offset + part.extent.bytes();
      if (from < handle.end() && part.table_offset <= from && from < part_end) {
        const uint64_t to = std::min(handle.end(), part_end);
        const uint64_t begin = part.extent.offset().value + from - part.table_offset;
        Add(begin, begin + to - from, what, table, smallest, largest);
        from = to;
      }
    }
  }

  Task<Status> AddTable(size_t table) {
    const TableView& view = live_.tables[table]->view();
    const TableEnvironment environment{device_, cache_, live_.store.superblock.uuid};
    for (const SegmentDescriptor& segment : view.segments) {
      const std::string smallest(segment.smallest_user_key());
      const std::string largest(segment.largest_user_key());
      AddBlock(table, segment.footer, BytesOf::kIndex, smallest, largest);
      const Result<BlockRef> block =
          co_await ReadBlock(environment, view, segment.footer, BlockKind::kFooter, IoPurpose::kCheck, false);
      if (!block.ok()) {
        co_return block.error();
      }
      const std::optional<SegmentFooter> footer = SegmentFooter::Parse(PayloadOf(block->bytes()));
      for (const BlockHandle& page : footer->FilterPages()) {
        AddBlock(table, page, BytesOf::kFilter, smallest, largest);
      }
      const auto levels_below = static_cast<uint8_t>(footer->index_levels() - 1);
      const Status walked = co_await AddIndex(environment, table, footer->root(), levels_below);
      if (!walked.ok()) {
        co_return walked;
      }
    }
    co_return OkStatus();
  }

  Task<Status> AddIndex(const TableEnvironment& environment, size_t table, IndexBlock index,
                        uint8_t levels_below) {
    for (uint32_t i = 0; i < index.size(); ++i) {
      const IndexEntry entry = index.Copy(*index.At(i));
      AddBlock(table, entry.block, levels_below == 0 ? BytesOf::kData : BytesOf::kIndex, entry.smallest,
               entry.largest);
      if (levels_below == 0) {
        continue;
      }
      const Result<BlockRef> block = co_await ReadBlock(environment, live_.tables[table]->view(), entry.block,
                                                        BlockKind::kIndex, IoPurpose::kCheck, false);
      if (!block.ok()) {
        co_return block.error();
      }
      const std::optional<IndexBlock> child = IndexBlock::Parse(PayloadOf(block->bytes()));
      const auto further = static_cast<uint8_t>(levels_below - 1);
      const Status walked = co_await AddIndex(environment, table, *child, further);
      if (!walked.ok()) {
        co_return walked;
      }
    }
    co_return OkStatus();
  }

  BlockDevice& device_;
  BlockCache cache_{0};
  LiveBytes live_;
};

}  // namespace

std::string_view NameOf(BytesOf what) {
  constexpr std::array<std::string_view, kBytesOfKinds> kNames = {
      "superblock", "manifest", "log", "end of the log", "data", "index", "filter", "nothing"};
  return kNames[static_cast<size_t>(what)];
}

const LiveRange& LiveBytes::At(uint64_t offset) const {
  static const LiveRange kUnused;
  auto behind = ranges.upper_bound(offset);
  if (behind == ranges.begin()) {
    return kUnused;
  }
  --behind;
  return offset < behind->second.end ? behind->second : kUnused;
}

uint64_t LiveBytes::BytesOfKind(BytesOf what) const {
  uint64_t bytes = 0;
  for (const auto& [begin, range] : ranges) {
    bytes += range.what == what ? range.end - range.begin : 0;
  }
  return bytes;
}

Task<Result<LiveBytes>> FindLiveBytes(BlockDevice& device) {
  Finder finder(device);
  co_return co_await finder.Run();
}

}  // namespace varve
