#include "engine/store/range_covers.h"

namespace varve {

SequenceNumber HiddenBelow(const ReadState& state, std::string_view user_key, SequenceNumber at) {
  SequenceNumber newest;
  const auto ask = [&](const HeldMemtable& held) {
    if (held.memtable.ranges().any()) {
      newest = std::max(newest, held.memtable.ranges().NewestAt(user_key, at));
    }
  };
  ask(*state.active);
  for (const std::shared_ptr<HeldMemtable>& held : state.immutables) {
    ask(*held);
  }
  if (state.version->range_tombstones() != nullptr) {
    newest = std::max(newest, state.version->range_tombstones()->NewestAt(user_key, at));
  }
  return newest;
}

RangeCover WalkCovers::Find(std::string_view user_key) const {
  RangeCover cover;
  const auto ask = [&](const HeldMemtable& held) {
    if (held.memtable.ranges().any()) {
      cover.Add(held.memtable.ranges().CoverAt(user_key, at_));
    }
  };
  ask(*state_.active);
  for (const std::shared_ptr<HeldMemtable>& held : state_.immutables) {
    ask(*held);
  }
  if (state_.version->range_tombstones() != nullptr) {
    cover.Add(state_.version->range_tombstones()->CoverAt(user_key, at_));
  }
  return cover;
}

}  // namespace varve
