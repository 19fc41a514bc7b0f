// Which techniques a store is opened with, each time anew: so tables that one has made are merged by another,
// or without any.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/base/prng.h"
#include "engine/space/superblock.h"
#include "engine/store/store.h"

namespace varve::sim {

enum class Drawn : uint8_t { kNone, kBySeed };

// Draws from a stream of its own: what else a seed does, it does as without techniques.
class DrawnTechniques {
 public:
  DrawnTechniques(uint64_t seed, Drawn drawn)
      : random_(seed ^ 0x7ec4),
        log_random_(seed ^ 0x106),
        delete_random_(seed ^ 0xde1),
        buffer_random_(seed ^ 0xb0f),
        any_(drawn == Drawn::kBySeed && !random_.OneIn(3)) {
    if (any_ && random_.OneIn(2)) {
      block_bytes_ = 1 * kKiB;
    }
  }

  // Of what Logs may hold: stores are so small that with less nothing would gather there.
  static constexpr double kLogShare = 1;
  // Of a data block. Small ones hold so few records that merges split them.
  uint32_t block_bytes() const { return block_bytes_; }

  Techniques Next() {
    Techniques techniques = Techniques::None();
    if (any_) {
      techniques.block_merge = !random_.OneIn(3);
      techniques.append_merge = !random_.OneIn(3);
      techniques.sst_log = !log_random_.OneIn(3);
      techniques.delete_aware = !delete_random_.OneIn(3);
      techniques.monkey = !delete_random_.OneIn(3);
      techniques.compaction_buffer = !buffer_random_.OneIn(3);
    }
    return techniques;
  }
  // Of so few tables that there are levels below it, also where the store makes it as many times as large as
  // its ratio says.
  static uint64_t Level1Bytes(const StoreOptions& options) {
    const uint64_t times = options.techniques.append_merge ? options.level_ratio : 1;
    return std::max<uint64_t>(4 / times, 1) * options.table_bytes;
  }
  // All that buffers go by. Mostly so that they hold much, be it hot or not.
  void DrawBuffers(StoreOptions& options) {
    options.buffer_share = buffer_random_.OneIn(4) ? 0.1 : 1;
    options.buffer_hot_share = buffer_random_.OneIn(3) ? 0.5 : 0;
    // Clients and a slow device wait for minutes: much shorter, and a simulation does little but trim
    // meanwhile.
    options.buffer_trim_interval_nanos = uint64_t{4'000'000} << buffer_random_.Below(18);
  }

 private:
  Prng random_;
  // Others: kept seeds draw the older techniques as they did.
  Prng log_random_;
  Prng delete_random_;
  Prng buffer_random_;
  const bool any_;
  uint32_t block_bytes_ = StoreParameters().data_block_bytes;
};

}  // namespace varve::sim
