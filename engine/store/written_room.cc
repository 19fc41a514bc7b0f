#include "engine/store/written_room.h"

#include <algorithm>
#include <limits>

#include "engine/base/units.h"
#include "engine/cache/block_cache.h"

namespace varve {

namespace {

// What a hit spares, in bytes that a merge reads: a block alone takes a request of its own.
constexpr double kHitBytes = 16 * kKiB;
// By how much it has to pay, or not to pay, before anything changes.
constexpr double kMargin = 1.25;
// Pieces are spread over shards by hash, so that some are full while others have room.
constexpr double kUnevenness = 1.125;

double Real(uint64_t number) {
  return static_cast<double>(number);
}

double Level0Bytes(const WrittenLevels& levels) {
  return Real(levels.flushed_bytes) / Real(std::max<uint64_t>(levels.flushes, 1)) * levels.level0_tables;
}

}  // namespace

double WorthOfReserve(const WrittenLevels& levels, const CacheUse& use) {
  const double spared = Real(levels.flushed_bytes) / std::max(Level0Bytes(levels), 1.0);
  const double lost = Real(use.data_hits) * kHitBytes / std::max(Real(use.data_bytes), 1.0);
  return lost > 0 ? spared / lost : std::numeric_limits<double>::infinity();
}

uint64_t ReserveFor(const WrittenLevels& levels, const CacheUse& use) {
  // What leads to blocks is needed for every read.
  const uint64_t taken = use.guide_bytes + use.capacity_bytes / BlockCache::kNeverReservedShare;
  const uint64_t room = use.capacity_bytes - std::min(use.capacity_bytes, taken);
  const double level0 = Level0Bytes(levels);
  // What a merge of level 0 writes into level 1 is all of both.
  const double wanted = levels.level1_bytes == 0 ? level0 : 2 * level0 + Real(levels.level1_bytes);
  return static_cast<uint64_t>(std::min(kUnevenness * wanted, Real(room)));
}

void WrittenRoom::OnWindow(const WrittenLevels& levels) {
  const CacheUse use = TakeUse();
  const bool was = reserves_;
  if (steadiness_.MayStep()) {
    reserves_ = WorthOfReserve(levels, use) > (was ? 1 / kMargin : kMargin);
    steadiness_.Became(was ? 1 : 0, reserves_ ? 1 : 0);
  }
  reserved_bytes_ = reserves_ ? ReserveFor(levels, use) : 0;
  cache_.ReserveForWritten(reserved_bytes_);
}

CacheUse WrittenRoom::TakeUse() {
  const CacheStatistics now = cache_.statistics();
  CacheUse use;
  use.capacity_bytes = now.capacity_bytes;
  use.data_hits = now.of(BlockKind::kData).hits - data_hits_;
  use.data_bytes = now.of(BlockKind::kData).charged_bytes;
  for (const BlockKind guide : {BlockKind::kIndex, BlockKind::kFilter, BlockKind::kFooter}) {
    use.guide_bytes += now.of(guide).charged_bytes;
  }
  data_hits_ = now.of(BlockKind::kData).hits;
  return use;
}

}  // namespace varve
