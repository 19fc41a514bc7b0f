// Input: which image and what is done with it (1 byte), then patches of it: region (1), position in it (3),
// number of bytes (1), bytes. The patched image is checked and dumped, or mounted and read, or mounted, read
// and changed.
#include "engine/space/layout.h"
#include "engine/store/check_store.h"
#include "engine/store/dump.h"
#include "engine/store/store_at_rest.h"
#include "fs/ops/check_namespace.h"
#include "fs/ops/filesystem.h"
#include "tests/fuzz/base_image.h"
#include "tests/fuzz/filesystem_walk.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/small_store.h"

namespace varve::fuzz {

namespace {

constexpr size_t kNamesMax = 30;

const std::vector<BaseImage>& BaseImages() {
  static const std::vector<BaseImage> images{MakeBaseImage(512, false), MakeBaseImage(512, true),
                                             MakeBaseImage(4096, false)};
  return images;
}

class IgnoreDamage final : public CheckObserver, public NamespaceCheckSink {
 public:
  void OnProblem(StoreProblem /*problem*/) override {}
  void OnProgress(uint64_t /*done_bytes*/, uint64_t /*total_bytes*/) override {}
  void Problem(const NamespaceProblem& /*problem*/) override {}
  void Progress(uint64_t /*records*/) override {}
};

void LookAtRest(Machine& machine, MemoryDevice& device) {
  IgnoreDamage ignore;
  (void)machine.Run(CheckStore(device, CheckDepth::kOrder, ignore));
  const DumpLine line = [](std::string_view) {};
  (void)machine.Run(DumpSuperblock(device, line));
  (void)machine.Run(DumpManifest(device, line));
  (void)machine.Run(DumpWal(device, line));
  (void)machine.Run(DumpTable(device, TableId(1), line));
}

void Mount(Machine& machine, MemoryDevice& device, bool read_only) {
  NullLogger logger;
  StoreOptions options = SmallStoreOptions();
  options.read_only = read_only;
  StoreEnvironment environment{
      .device = device, .clock = machine.clock, .logger = logger, .background = {&machine.executor}};
  const Result<std::unique_ptr<Store>> store = machine.Run(OpenStore(std::move(environment), options));
  if (!store.ok()) {
    return;
  }
  IgnoreDamage ignore;
  (void)machine.Run(CheckNamespace(**store, ignore));
  FileSystemOptions fs_options;
  fs_options.read_only = read_only;
  const Result<std::unique_ptr<FileSystem>> fs =
      machine.Run(FileSystem::Mount({**store, machine.clock, logger, machine.executor}, fs_options));
  if (fs.ok()) {
    machine.Run(LookAtAll(**fs, kNamesMax));
    machine.Run(ChangeAll(**fs, kNamesMax));
    (void)machine.Run((*store)->Settle());
    (void)machine.Run((*fs)->Unmount());
  }
  (void)(*store)->StatisticsJson();
  (void)machine.Run((*store)->Close());
}

enum class Use : uint64_t { kCheck = 0, kRead = 1, kChange = 2 };
constexpr uint64_t kUses = 3;

void UseDevice(MemoryDevice& device, Use use) {
  Machine machine;
  switch (use) {
    case Use::kCheck:
      return LookAtRest(machine, device);
    case Use::kRead:
      return Mount(machine, device, true);
    case Use::kChange:
      Mount(machine, device, false);
      // What was written must not make it worse.
      return Mount(machine, device, true);
  }
}

}  // namespace

void RunImage(std::string_view input) {
  InputReader reader(input);
  const uint64_t choice = reader.Number(1);
  const BaseImage& image = BaseImages()[choice % BaseImages().size()];
  MemoryDevice device(MemoryDeviceOptions{.size_bytes = kDeviceBytesMin, .sector_bytes = image.sector_bytes});
  device.Restore(image.contents);
  while (!reader.empty()) {
    const Region& region = image.regions[reader.Number(1) % image.regions.size()];
    const uint64_t position = reader.Number(3) % region.bytes();
    const std::string_view bytes = reader.Bytes(reader.Number(1));
    // A patch ends with the sector that it begins in: the region's next one may lie elsewhere.
    const uint64_t offset = region.DeviceOffsetOf(position);
    device.Poke(offset, bytes.substr(0, image.sector_bytes - offset % image.sector_bytes));
  }
  UseDevice(device, static_cast<Use>(choice / BaseImages().size() % kUses));
}

std::vector<std::string> ImageSeeds() {
  std::vector<std::string> seeds;
  for (char image = 0; image < 9; ++image) {
    seeds.push_back(std::string(1, image));
    for (char region = 0; region < 5; ++region) {
      std::string seed(1, image);
      seed.push_back(region);
      AppendNumber(seed, 40 + 100 * static_cast<uint64_t>(region), 3);
      AppendNumber(seed, 4, 1);
      seeds.push_back(seed + "\x7f\x01\xff\x03");
    }
  }
  return seeds;
}

}  // namespace varve::fuzz
