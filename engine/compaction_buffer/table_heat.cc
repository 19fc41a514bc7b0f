#include "engine/compaction_buffer/table_heat.h"

#include <algorithm>
#include <utility>

#include "engine/table/block_reader.h"
#include "engine/table/index_block.h"
#include "engine/table/segment_footer.h"
#include "engine/table/table_format.h"

namespace varve {

namespace {

class CachedIndex {
 public:
  CachedIndex(const TableEnvironment& environment, const TableView& view, const IsServed& served)
      : environment_(environment), view_(view), segment_(view.segments.back()), served_(served) {}

  std::optional<SegmentHeat> Walk() {
    const BlockRef block = Peek(segment_.footer);
    const std::optional<SegmentFooter> footer =
        block ? SegmentFooter::Parse(PayloadOf(block.bytes())) : std::nullopt;
    if (!footer || !Visit(footer->root(), footer->index_levels())) {
      return std::nullopt;
    }
    heat_.meta.push_back(TableRange::Of(segment_.footer));
    for (const BlockHandle& page : footer->FilterPages()) {
      heat_.meta.push_back(TableRange::Of(page));
    }
    return std::move(heat_);
  }

 private:
  BlockRef Peek(const BlockHandle& handle) const {
    return environment_.cache.Peek(CacheKeyOf(view_.id, handle));
  }

  // False: the index is damaged.
  bool Visit(const IndexBlock& index, uint8_t levels_left) {
    for (uint32_t i = 0; i < index.size(); ++i) {
      const std::optional<IndexBlock::Entry> entry = index.At(i);
      if (!entry) {
        return false;
      }
      IndexEntry copy = index.Copy(*entry);
      const bool behind = heat_.blocks.empty() || heat_.blocks.back().range.largest < copy.smallest;
      if (!behind || copy.smallest > copy.largest) {
        return false;
      }
      KeyRange range{std::move(copy.smallest), std::move(copy.largest)};
      if (levels_left == 1) {
        const bool hot =
            environment_.cache.StandingOf(CacheKeyOf(view_.id, copy.block)) != CacheStanding::kAbsent ||
            (served_ && served_(range.smallest));
        heat_.blocks.push_back({std::move(range), copy.block, hot, false});
        continue;
      }
      heat_.meta.push_back(TableRange::Of(copy.block));
      const BlockRef below = Peek(copy.block);
      if (!below) {
        heat_.blocks.push_back({std::move(range), copy.block, false, true});
        continue;
      }
      const std::optional<IndexBlock> index_below = IndexBlock::Parse(PayloadOf(below.bytes()));
      if (!index_below || !Visit(*index_below, static_cast<uint8_t>(levels_left - 1))) {
        return false;
      }
    }
    return true;
  }

  const TableEnvironment& environment_;
  const TableView& view_;
  const SegmentDescriptor& segment_;
  const IsServed& served_;
  SegmentHeat heat_;
};

// The view's next generation without what neither its footer, index and filter nor the blocks of `kept` need.
std::optional<TableView> ViewFor(const TableView& view, const SegmentHeat& heat, const KeySpans& kept,
                                 uint32_t sector_bytes) {
  std::vector<TableRange> used = heat.meta;
  for (const BlockHeat& block : heat.blocks) {
    if (!kept.Overlaps(block.range)) {
      continue;
    }
    if (block.is_index) {
      return std::nullopt;  // where its blocks lie is not known
    }
    used.push_back(TableRange::Of(block.block));
  }
  std::vector<TableExtent> extents =
      ExtentsWithout(view.extents, HolesOf(view, std::move(used), sector_bytes), view.used_bytes);
  if (extents == view.extents) {
    return std::nullopt;
  }
  TableView trimmed = view;
  trimmed.generation = view.generation.Next();
  trimmed.extents = std::move(extents);
  return trimmed;
}

bool IsHot(uint64_t hot, uint64_t all, double hot_share) {
  return static_cast<double>(hot) >= hot_share * static_cast<double>(all);
}

}  // namespace

std::optional<SegmentHeat> HeatOf(const TableEnvironment& environment, const TableView& view,
                                  const IsServed& served) {
  return CachedIndex(environment, view, served).Walk();
}

KeySpans HotKeys(const SegmentHeat& heat, const KeySpans& within, double hot_share) {
  KeySpans hot_keys;
  // Hot parts in a row are one stretch: what lies between them is no hole.
  std::optional<KeyRange> stretch;
  std::vector<const BlockHeat*> part;
  size_t hot = 0;
  const auto end_stretch = [&] {
    if (stretch) {
      hot_keys.Append(*stretch);
      stretch.reset();
    }
  };
  const auto end_part = [&] {
    if (!IsHot(hot, part.size(), hot_share)) {
      end_stretch();
    } else if (stretch) {
      stretch->largest = part.back()->range.largest;
    } else {
      stretch = KeyRange{part.front()->range.smallest, part.back()->range.largest};
    }
    part.clear();
    hot = 0;
  };
  for (const BlockHeat& block : heat.blocks) {
    if (block.is_index || !within.Overlaps(block.range)) {
      if (!part.empty()) {
        end_part();
      }
      end_stretch();
      continue;
    }
    part.push_back(&block);
    hot += block.hot ? 1 : 0;
    if (part.size() == kBlocksAPart) {
      end_part();
    }
  }
  if (!part.empty()) {
    end_part();
  }
  end_stretch();
  return hot_keys.And(within);
}

KeptPart HotPartOf(const TableEnvironment& environment, const TableView& view, const KeySpans& within,
                   const IsServed& served, double hot_share) {
  if (hot_share <= 0) {
    return WholePartOf(environment, view, within);
  }
  if (view.segments.size() > 1) {
    uint64_t blocks = 0;
    for (const SegmentDescriptor& segment : view.segments) {
      blocks += segment.data_blocks;
    }
    const uint64_t cached = environment.cache.CachedDataBlocks(view.id);
    return IsHot(cached, blocks, hot_share) ? KeptPart{within, std::nullopt} : KeptPart{};
  }
  const std::optional<SegmentHeat> heat = HeatOf(environment, view, served);
  if (!heat) {
    return {};
  }
  KeptPart part{HotKeys(*heat, within, hot_share), std::nullopt};
  if (!part.kept.empty()) {
    part.view = ViewFor(view, *heat, part.kept, environment.device.sector_bytes());
  }
  return part;
}

KeptPart WholePartOf(const TableEnvironment& environment, const TableView& view, const KeySpans& within) {
  KeptPart part{within, std::nullopt};
  if (view.segments.size() == 1 && !within.empty()) {
    // What is not cached of the index says nothing of where its blocks lie.
    const std::optional<SegmentHeat> heat = HeatOf(environment, view, {});
    if (heat) {
      part.view = ViewFor(view, *heat, within, environment.device.sector_bytes());
    }
  }
  return part;
}

}  // namespace varve
