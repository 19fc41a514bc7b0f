#include "engine/store/store_at_rest.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "engine/space/superblock_store.h"

namespace varve {

Task<Result<StoreAtRest>> ReadSuperblockAtRest(BlockDevice& device) {
  SuperblockStore superblocks(device);
  Result<Superblock> superblock = co_await superblocks.Load();
  if (!superblock.ok()) {
    co_return superblock.error();
  }
  StoreAtRest store;
  store.superblock = std::move(superblock).value();
  store.superblock_problems = superblocks.problems();
  co_return store;
}

Task<Result<StoreAtRest>> ReadStoreAtRest(BlockDevice& device, ManifestVisitor visit) {
  Result<StoreAtRest> store = co_await ReadSuperblockAtRest(device);
  if (!store.ok()) {
    co_return store.error();
  }
  const auto tables = std::make_shared<LiveTables>(nullptr);
  Result<ManifestContent> manifest =
      co_await ReadManifest(device, store.value().superblock, *tables, std::move(visit));
  if (!manifest.ok()) {
    co_return manifest.error();
  }
  store.value().manifest = std::move(manifest).value();
  co_return store;
}

WalReaderOptions WalOptionsOf(const StoreAtRest& store) {
  const Version& version = store.manifest.version;
  WalReaderOptions options;
  options.store_uuid = store.superblock.uuid;
  options.segments = version.wal_segments();
  options.log_start = version.counters().log_start;
  options.tables_sequence = version.counters().last_sequence;
  options.purpose = IoPurpose::kCheck;
  return options;
}

std::string PrintableKey(std::string_view key) {
  std::string text;
  for (const char c : key) {
    if (c >= 0x20 && c < 0x7f && c != '\\') {
      text += c;
    } else {
      fmt::format_to(std::back_inserter(text), "\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return text;
}

}  // namespace varve
