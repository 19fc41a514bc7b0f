// HotKeys: feeds the store's HotMap with what merges of level 0 read (L2SM, section III-C: there and nowhere
// else, since what was overwritten in memory costs no merge).
#pragma once

#include <string_view>

#include "engine/base/checksum.h"
#include "engine/compaction/job_environment.h"
#include "engine/sst_log/hot_map.h"

namespace varve {

// Threads: any.
class HotKeys final : public MergeObserver {
 public:
  explicit HotKeys(HotMap& map) : map_(map) {}
  void OnMergedKey(std::string_view user_key) override { map_.Add(Hash64(user_key)); }

 private:
  HotMap& map_;
};

}  // namespace varve
