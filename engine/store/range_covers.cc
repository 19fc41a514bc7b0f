#include "engine/store/range_covers.h"

namespace varve {

namespace {

// visit(tombstones) for each set of range tombstones that a reader of the state has to ask: those of
// memtables that have any, and the Version's.
template <typename Visit>
void ForEachSet(const ReadState& state, Visit visit) {
  const auto visit_memtable = [&](const HeldMemtable& held) {
    if (held.memtable.ranges().any()) {
      visit(held.memtable.ranges());
    }
  };
  visit_memtable(*state.active);
  for (const std::shared_ptr<HeldMemtable>& held : state.immutables) {
    visit_memtable(*held);
  }
  if (state.version->range_tombstones() != nullptr) {
    visit(*state.version->range_tombstones());
  }
}

}  // namespace

SequenceNumber HiddenBelow(const ReadState& state, std::string_view user_key, SequenceNumber at) {
  SequenceNumber newest;
  ForEachSet(state,
             [&](const auto& tombstones) { newest = std::max(newest, tombstones.NewestAt(user_key, at)); });
  return newest;
}

RangeCover WalkCovers::Find(std::string_view user_key) const {
  RangeCover cover;
  ForEachSet(state_, [&](const auto& tombstones) { cover.Add(tombstones.CoverAt(user_key, at_)); });
  return cover;
}

}  // namespace varve
