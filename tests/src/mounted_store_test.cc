#include "src/mounted_store.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "engine/base/clock.h"
#include "engine/store/format_store.h"
#include "fs/ops/filesystem.h"
#include "tests/support/image_file.h"
#include "tools/device_store.h"

namespace varve {
namespace {

Status MakeStore(const std::string& path) {
  Result<std::unique_ptr<OpenedDevice>> opened = OpenedDevice::Open(path, Access::kWrite);
  if (!opened.ok()) {
    return opened.error();
  }
  OpenedDevice& on = **opened;
  FormatStoreOptions format;
  format.uuid = MakeUuid(5, 6);
  if (const Result<Superblock> made = on.Run(FormatStore(on.device(), on.clock(), format)); !made.ok()) {
    return made.error();
  }
  Result<std::unique_ptr<Store>> store = OpenStoreOn(on, Access::kWrite);
  if (!store.ok()) {
    return store.error();
  }
  Status status = on.Run(FormatNamespace(**store, on.clock(), {}, 0, 0));
  const Status closed = on.Run((*store)->Close());
  return status.ok() ? closed : status;
}

bool HasEnded(const MountedStore& mounted) {
  pollfd watched = {mounted.ended_descriptor(), POLLIN, 0};
  return poll(&watched, 1, 0) > 0;
}

// What a second SIGTERM does while somebody else's unmount has DESTROY close the store.
TEST(MountedStore, FlushesAreHarmlessWhileItClosesAndAfterwards) {
  if (geteuid() != 0 || access("/dev/fuse", R_OK | W_OK) != 0) {
    GTEST_SKIP() << "needs root and /dev/fuse";
  }
  std::string directory = std::filesystem::temp_directory_path() / "varve-mounted-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  ImageFile image(256 * kMiB);
  const Status made = MakeStore(image.path());
  if (made.Is(ErrorCode::kUnsupported)) {
    std::filesystem::remove(directory);
    GTEST_SKIP() << made.ToString();
  }
  ASSERT_TRUE(made.ok()) << made.ToString();
  const SystemClock clock;
  NullLogger logger;
  {
    MountedStore mounted({image.path(), directory, {}}, clock, logger);
    const Status started = mounted.Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
    std::thread unmounter([&] { EXPECT_EQ(umount2(directory.c_str(), 0), 0); });
    while (!HasEnded(mounted)) {
      EXPECT_TRUE(mounted.Flush().ok());
    }
    unmounter.join();
    EXPECT_TRUE(mounted.Finish().ok());
    EXPECT_TRUE(mounted.Flush().ok());
  }
  std::filesystem::remove(directory);
}

}  // namespace
}  // namespace varve
