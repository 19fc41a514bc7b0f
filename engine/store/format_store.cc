#include "engine/store/format_store.h"

#include <fmt/core.h>

#include <utility>

#include "engine/space/extent_allocator.h"
#include "engine/space/foreign_content.h"
#include "engine/space/layout.h"
#include "engine/space/superblock_store.h"
#include "engine/version/manifest_writer.h"
#include "engine/version/version_edit.h"

namespace varve {

Task<Result<Superblock>> FormatStore(BlockDevice& device, const Clock& clock, FormatStoreOptions options) {
  if (options.label.size() > superblock_format::kLabelBytesMax ||
      options.label.find('\0') != std::string::npos) {
    co_return InvalidArgument(
        fmt::format("a label has at most {} bytes, none of them zero", superblock_format::kLabelBytesMax));
  }
  const Result<Layout> layout = Layout::ForDevice(device.size_bytes());
  if (!layout.ok()) {
    co_return layout.error();
  }
  const Status wiped = co_await WipeForeignContent(device);
  if (!wiped.ok()) {
    co_return wiped.error();
  }

  // Nothing is taken but what the manifest takes, so no share need be kept for anybody.
  ExtentAllocator allocator(layout.value(), 0);
  VersionEdit empty_store;
  Result<ManifestLocation> manifest =
      co_await CreateManifest(device, allocator, options.uuid, std::move(empty_store));
  if (!manifest.ok()) {
    co_return manifest.error();
  }

  Superblock superblock;
  superblock.uuid = options.uuid;
  superblock.label = std::move(options.label);
  superblock.device_bytes = device.size_bytes();
  superblock.sector_bytes = device.sector_bytes();
  superblock.created_wall_nanos = clock.WallNanos();
  superblock.parameters = options.parameters;
  superblock.manifest = std::move(manifest).value();
  SuperblockStore superblocks(device);
  const Status formatted = co_await superblocks.Format(std::move(superblock));
  if (!formatted.ok()) {
    co_return formatted.error();
  }
  co_return superblocks.current();
}

}  // namespace varve
