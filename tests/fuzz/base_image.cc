#include "tests/fuzz/base_image.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "engine/base/check.h"
#include "engine/space/layout.h"
#include "engine/store/format_store.h"
#include "engine/store/store_at_rest.h"
#include "fs/ops/filesystem.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/small_store.h"

namespace varve::fuzz {

namespace {

constexpr size_t kFiles = 60;

Task<void> FillDirectory(FileSystem& fs, InodeNumber directory, size_t from, size_t end) {
  const Caller caller{.uid = 1000, .gid = 1000, .pid = 1};
  for (size_t i = from; i < end; ++i) {
    const std::string name = "file" + std::to_string(i);
    const Result<Attributes> file = co_await fs.MakeNode(directory, name, S_IFREG | 0644, 0, caller);
    Check(file.ok(), "a file of the base image cannot be made");
    const size_t bytes = i % 5 == 0 ? 9'000 : 10 * i;
    (void)co_await fs.Write(file->inode, 0, std::string(bytes, static_cast<char>('a' + i % 26)), {});
    if (i % 7 == 0) {
      (void)co_await fs.SetXattr(file->inode, "user.a", name, {});
    }
    if (i % 11 == 0) {
      const Result<Attributes> linked = co_await fs.Link(file->inode, kRootInode, "link" + name);
      fs.Forget(linked->inode, 1);
    }
    fs.Forget(file->inode, 1);
  }
}

// Three rounds of the same names in other tables, then some that only the log holds.
Task<void> Fill(FileSystem& fs, Store& store) {
  const Caller caller;
  const Result<Attributes> directory = co_await fs.MakeDirectory(kRootInode, "directory", 0755, caller);
  const Result<Attributes> below = co_await fs.MakeDirectory(directory->inode, "below", 0755, caller);
  const Result<Attributes> link = co_await fs.MakeSymlink(kRootInode, "symlink", "directory/below", caller);
  fs.Forget(link->inode, 1);
  for (size_t round = 0; round < 3; ++round) {
    const size_t from = round * kFiles / 3;
    co_await FillDirectory(fs, round % 2 == 0 ? directory->inode : below->inode, from, from + kFiles / 3);
    (void)co_await fs.Unlink(directory->inode, "file" + std::to_string(round));
    Check((co_await store.Settle()).ok(), "the base image cannot settle");
  }
  co_await FillDirectory(fs, kRootInode, kFiles, kFiles + 10);
  fs.Forget(below->inode, 1);
  fs.Forget(directory->inode, 1);
  Check((co_await fs.Sync()).ok(), "the base image cannot be made durable");
}

void Format(Machine& machine, MemoryDevice& device) {
  FormatStoreOptions options;
  options.label = "fuzz";
  options.uuid = MakeUuid(1, 2);
  Check(machine.Run(FormatStore(device, machine.clock, std::move(options))).ok(), "no store could be made");
}

std::vector<Region> RegionsOf(Machine& machine, MemoryDevice& device) {
  const Result<StoreAtRest> store = machine.Run(ReadStoreAtRest(device, nullptr));
  Check(store.ok(), "the base image cannot be read");
  Region superblocks;
  Region manifest;
  Region log;
  Region blocks;
  Region footers;
  for (const DeviceOffset offset : Layout::ForDevice(device.size_bytes())->superblock_offsets()) {
    superblocks.Add(device, {offset.value, superblock_format::kBytes});
  }
  for (const Extent& extent : store->superblock.manifest.extents) {
    manifest.Add(device, {extent.offset().value, extent.bytes()});
  }
  for (const WalSegment& segment : store->manifest.version.wal_segments()) {
    log.Add(device, {segment.extent.offset().value, segment.extent.bytes()});
  }
  store->manifest.version.ForEachTable([&](const LiveTable& table) {
    const TableView& view = table.view();
    blocks.Add(device, {view.extents[0].extent.offset().value,
                        std::min(view.used_bytes, view.extents[0].extent.bytes())});
    for (const SegmentDescriptor& segment : view.segments) {
      const uint64_t footer = view.extents[0].extent.offset().value + segment.footer.table_offset;
      footers.Add(device, {footer, RoundUp(segment.footer.bytes, device.sector_bytes())});
    }
  });
  return {superblocks, manifest, log, blocks, footers};
}

}  // namespace

void Region::Add(const MemoryDevice& device, Piece range) {
  const uint32_t sector_bytes = device.sector_bytes();
  for (uint64_t at = range.offset; at < range.offset + range.bytes; at += sector_bytes) {
    if (device.Peek(at, sector_bytes).find_first_not_of('\0') != std::string::npos) {
      pieces_.push_back({at, sector_bytes});
      bytes_ += sector_bytes;
    }
  }
}

uint64_t Region::DeviceOffsetOf(uint64_t position) const {
  // All pieces are one sector.
  const uint64_t piece_bytes = pieces_.front().bytes;
  return pieces_[position / piece_bytes].offset + position % piece_bytes;
}

BaseImage MakeBaseImage(uint32_t sector_bytes, bool closed) {
  Machine machine;
  MemoryDevice device(kDeviceBytesMin, sector_bytes);
  NullLogger logger;
  Format(machine, device);
  StoreEnvironment environment{
      .device = device, .clock = machine.clock, .logger = logger, .background = {&machine.executor}};
  Result<std::unique_ptr<Store>> store = machine.Run(OpenStore(std::move(environment), SmallStoreOptions()));
  Check(store.ok(), "the base image cannot be opened");
  FileSystemOptions options;
  options.format = {512, 4096};
  Result<std::unique_ptr<FileSystem>> fs =
      machine.Run(FileSystem::Mount({**store, machine.clock, logger, machine.executor}, options));
  Check(fs.ok(), "the base image cannot be mounted");
  machine.Run(Fill(**fs, **store));
  MemoryDevice::Contents contents = device.Snapshot();
  Check(machine.Run((*fs)->Unmount()).ok(), "the base image cannot be unmounted");
  Check(machine.Run((*store)->Close()).ok(), "the base image cannot be closed");
  if (closed) {
    contents = device.Snapshot();
  }
  device.Restore(contents);
  return {contents, sector_bytes, RegionsOf(machine, device)};
}

}  // namespace varve::fuzz
