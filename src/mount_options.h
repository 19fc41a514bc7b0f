// The options of -o, as mount(8) and fstab give them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/store/store.h"
#include "fs/ops/filesystem.h"

namespace varve {

// How requests come (fs/fuse/transport.h).
enum class TransportChoice : uint8_t {
  kAuto,  // fuse-over-io_uring where the kernel lets us
  kUring,
  kDevFuse,
};

struct MountOptions {
  bool read_only = false;
  // Every change is durable before its call ends.
  bool sync = false;
  AccessTimes access_times = AccessTimes::kRelative;
  bool directory_access_times = true;
  TransportChoice transport = TransportChoice::kAuto;
  StoreOptions store;
  // Passed on to the kernel: "ro", "noatime", "allow_other", …
  std::vector<std::string> kernel;
};

// What every mount begins with. `by_root`: other users may use the filesystem, as under any mount by root.
// Set-user-id bits and device files take effect only when "suid" and "dev" ask for it.
//
// `lists` are the arguments of -o, each separated by commas; later ones win. What fstab keeps for other
// programs (noauto, user, x-…, …) is ignored, and so is whatever is unknown when `sloppy`. Errors:
// kInvalidArgument, naming the option and those there are.
Result<MountOptions> ParseMountOptions(const std::vector<std::string>& lists, bool by_root, bool sloppy);

// For --help and for messages.
std::string_view MountOptionsHelp();

}  // namespace varve
