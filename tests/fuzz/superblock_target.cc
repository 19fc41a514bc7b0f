// Input: the bytes of one copy, filled up with zeros. It is decoded as either copy, and loaded from a device.
#include "engine/base/check.h"
#include "engine/space/layout.h"
#include "engine/space/superblock.h"
#include "engine/space/superblock_store.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/memory_device.h"

namespace varve::fuzz {

void RunSuperblock(std::string_view input) {
  std::string block(input.substr(0, superblock_format::kBytes));
  block.resize(superblock_format::kBytes);
  for (uint32_t copy = 0; copy < kSuperblockCopies; ++copy) {
    const Result<Superblock> decoded = DecodeSuperblock(block, copy);
    if (decoded.ok()) {
      const Result<Superblock> again = DecodeSuperblock(EncodeSuperblock(*decoded, copy), copy);
      Check(again.ok() && *again == *decoded, "a superblock changes when it is written again");
    }
  }

  Machine machine;
  MemoryDevice device(kDeviceBytesMin, 512);
  const Layout layout = Layout::ForDevice(kDeviceBytesMin).value();
  device.Poke(layout.superblock_offsets()[0].value, block);
  device.Poke(layout.superblock_offsets()[1].value, block);
  SuperblockStore store(device);
  Result<Superblock> loaded = machine.Run(store.Load());
  if (loaded.ok()) {
    (void)CheckWritable(*loaded);
    (void)machine.Run(store.Update(*loaded));
  }
}

std::vector<std::string> SuperblockSeeds() {
  Superblock superblock;
  superblock.uuid = MakeUuid(1, 2);
  superblock.label = "label";
  superblock.device_bytes = kDeviceBytesMin;
  superblock.sector_bytes = 512;
  superblock.generation = 3;
  superblock.manifest = {7, {{1, 4}, {9, 2}}, 4096, 5};
  std::vector<std::string> seeds{EncodeSuperblock(superblock, 0), EncodeSuperblock(superblock, 1)};
  superblock.sector_bytes = 4096;
  superblock.manifest.extents.assign(superblock_format::kExtentsMax, {1, 1});
  superblock.read_only_features = 1;
  seeds.push_back(EncodeSuperblock(superblock, 0));
  superblock.incompat_features = 1;
  seeds.push_back(EncodeSuperblock(superblock, 0));
  return seeds;
}

}  // namespace varve::fuzz
