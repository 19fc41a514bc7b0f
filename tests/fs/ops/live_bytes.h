// Which bytes of a device a store needs, and what for: for tests that destroy them one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/device/block_device.h"
#include "engine/ring/task.h"
#include "engine/store/store_at_rest.h"

namespace varve {

enum class BytesOf : uint8_t {
  kSuperblock,
  kManifest,
  kLogGroup,  // that a later one proves to have been durable
  kLogTail,   // the last groups: where one is bad the log ends before it, as after a torn write
  kData,
  kIndex,  // and footers
  kFilter,
  kNothing,  // used by the store, and read by nobody: padding, what a log or a manifest has not reached yet
};
inline constexpr size_t kBytesOfKinds = 8;
std::string_view NameOf(BytesOf what);

// What lies in [begin, end) of the device.
struct LiveRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  BytesOf what = BytesOf::kNothing;
  // Of tables: which one, by its place in StoreAtRest's version, and the user keys that the block concerns.
  size_t table = 0;
  std::string smallest;
  std::string largest;
};

struct LiveBytes {
  StoreAtRest store;
  std::vector<std::shared_ptr<const LiveTable>> tables;
  std::map<uint64_t, LiveRange> ranges;  // by begin; disjoint

  // What the byte is; kNothing where no range has it.
  const LiveRange& At(uint64_t offset) const;
  uint64_t BytesOfKind(BytesOf what) const;
};

// Of a sound store.
Task<Result<LiveBytes>> FindLiveBytes(BlockDevice& device);

}  // namespace varve
