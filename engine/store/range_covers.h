// What range tombstones hide from a reader of one ReadState, wherever in it they are.
#pragma once

#include <algorithm>
#include <memory>
#include <string_view>

#include "engine/base/range_tombstones.h"
#include "engine/base/units.h"
#include "engine/store/read_state.h"

namespace varve {

inline bool HasRangeTombstones(const ReadState& state) {
  const auto has_any = [](const std::shared_ptr<HeldMemtable>& held) {
    return held->memtable.ranges().any();
  };
  return state.active->memtable.ranges().any() || state.version->range_tombstones() != nullptr ||
         std::any_of(state.immutables.begin(), state.immutables.end(), has_any);
}

// Records of the key with smaller numbers are hidden from readers at `at`; 0: none is.
SequenceNumber HiddenBelow(const ReadState& state, std::string_view user_key, SequenceNumber at);

// The same for a walk, which asks for keys that lie near to each other.
class WalkCovers {
 public:
  // `state` must outlive it.
  WalkCovers(const ReadState& state, SequenceNumber at) : state_(state), at_(at), cover_(Find({})) {}

  // Until the next call.
  const RangeCover& Over(std::string_view user_key) {
    if (!cover_.HoldsFor(user_key)) {
      cover_ = Find(user_key);
    }
    return cover_;
  }

 private:
  RangeCover Find(std::string_view user_key) const;

  const ReadState& state_;
  const SequenceNumber at_;
  RangeCover cover_;
};

}  // namespace varve
