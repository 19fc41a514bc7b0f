#include "engine/base/range_tombstones.h"

#include <algorithm>

#include "engine/base/check.h"

namespace varve {

namespace {

// Of a tombstone, beyond its keys: a node by number, two fragments, and its number in each of some.
constexpr size_t kNodeBytes = 256;

size_t MemoryOf(std::string_view begin, std::string_view end) {
  // Each key is in the tombstone and in a fragment.
  return kNodeBytes + 2 * (begin.size() + end.size());
}

// The newest of the ascending `numbers` that is not above `at`; 0: there is none.
SequenceNumber NewestOf(const std::vector<SequenceNumber>& numbers, SequenceNumber at) {
  const auto above = std::upper_bound(numbers.begin(), numbers.end(), at);
  return above == numbers.begin() ? SequenceNumber(0) : *std::prev(above);
}

}  // namespace

void RangeCover::Add(const RangeCover& other) {
  newest = std::max(newest, other.newest);
  begin = std::max(begin, other.begin);
  if (end.empty() || (!other.end.empty() && other.end < end)) {
    end = other.end;
  }
}

RangeTombstones::Fragments::iterator RangeTombstones::SplitAt(std::string_view key) {
  const auto at_or_after = fragments_.lower_bound(key);
  if (at_or_after != fragments_.end() && at_or_after->first == key) {
    return at_or_after;
  }
  const Numbers numbers = at_or_after == fragments_.begin() ? Numbers() : std::prev(at_or_after)->second;
  numbers_ += numbers.size();
  return fragments_.emplace_hint(at_or_after, std::string(key), numbers);
}

void RangeTombstones::JoinWithBefore(Fragments::iterator fragment) {
  const bool same = fragment == fragments_.begin() ? fragment->second.empty()
                                                   : std::prev(fragment)->second == fragment->second;
  if (same) {
    numbers_ -= fragment->second.size();
    fragments_.erase(fragment);
  }
}

void RangeTombstones::Add(RangeTombstone tombstone) {
  Check(tombstone.begin < tombstone.end, "a range tombstone covers nothing");
  const SequenceNumber sequence = tombstone.sequence;
  memory_bytes_ += MemoryOf(tombstone.begin, tombstone.end);
  // The end first: what is split off there has what covered it before.
  const auto end = SplitAt(tombstone.end);
  for (auto fragment = SplitAt(tombstone.begin); fragment != end; ++fragment) {
    Numbers& numbers = fragment->second;
    numbers.insert(std::upper_bound(numbers.begin(), numbers.end(), sequence), sequence);
    numbers_++;
  }
  const bool is_new =
      by_sequence_.emplace(sequence, std::make_pair(std::move(tombstone.begin), std::move(tombstone.end)))
          .second;
  Check(is_new, "two range tombstones have one sequence number");
}

bool RangeTombstones::Remove(SequenceNumber sequence) {
  const auto found = by_sequence_.find(sequence);
  if (found == by_sequence_.end()) {
    return false;
  }
  const auto& [begin, end] = found->second;
  const auto first = fragments_.find(begin);
  const auto last = fragments_.find(end);
  for (auto fragment = first; fragment != last; ++fragment) {
    numbers_ -= std::erase(fragment->second, sequence);
  }
  // From behind, so that each is compared with what it will follow.
  for (auto fragment = last;;) {
    const bool is_first = fragment == first;
    const auto before = is_first ? fragment : std::prev(fragment);
    JoinWithBefore(fragment);
    if (is_first) {
      break;
    }
    fragment = before;
  }
  memory_bytes_ -= MemoryOf(begin, end);
  by_sequence_.erase(found);
  return true;
}

std::optional<RangeTombstone> RangeTombstones::Find(SequenceNumber sequence) const {
  const auto found = by_sequence_.find(sequence);
  if (found == by_sequence_.end()) {
    return std::nullopt;
  }
  return RangeTombstone{found->second.first, found->second.second, sequence};
}

SequenceNumber RangeTombstones::largest_sequence() const {
  return by_sequence_.empty() ? SequenceNumber(0) : by_sequence_.rbegin()->first;
}

RangeTombstones::Fragments::const_iterator RangeTombstones::Holding(std::string_view user_key) const {
  const auto behind = fragments_.upper_bound(user_key);
  return behind == fragments_.begin() ? fragments_.end() : std::prev(behind);
}

SequenceNumber RangeTombstones::NewestAt(std::string_view user_key, SequenceNumber at) const {
  const auto fragment = Holding(user_key);
  return fragment == fragments_.end() ? SequenceNumber(0) : NewestOf(fragment->second, at);
}

RangeCover RangeTombstones::CoverAt(std::string_view user_key, SequenceNumber at) const {
  RangeCover cover;
  const auto behind = fragments_.upper_bound(user_key);
  if (behind != fragments_.end()) {
    cover.end = behind->first;
  }
  if (behind != fragments_.begin()) {
    const auto fragment = std::prev(behind);
    cover.begin = fragment->first;
    cover.newest = NewestOf(fragment->second, at);
  }
  return cover;
}

SequenceNumber RangeTombstones::OldestAfter(std::string_view user_key, SequenceNumber than) const {
  const auto fragment = Holding(user_key);
  if (fragment == fragments_.end()) {
    return SequenceNumber(0);
  }
  const Numbers& numbers = fragment->second;
  const auto after = std::upper_bound(numbers.begin(), numbers.end(), than);
  return after == numbers.end() ? SequenceNumber(0) : *after;
}

SequenceNumber RangeTombstones::NewestOver(const KeyRangeView& range, SequenceNumber at) const {
  auto fragment = Holding(range.smallest);
  if (fragment == fragments_.end()) {
    fragment = fragments_.begin();
  }
  SequenceNumber newest;
  for (; fragment != fragments_.end() && fragment->first <= range.largest; ++fragment) {
    newest = std::max(newest, NewestOf(fragment->second, at));
  }
  return newest;
}

SequenceNumber RangeTombstones::LeastOver(const KeyRangeView& range, SequenceNumber at) const {
  auto fragment = Holding(range.smallest);
  if (fragment == fragments_.end()) {
    return SequenceNumber(0);
  }
  SequenceNumber least = kSequenceNumberMax;
  for (; fragment != fragments_.end() && fragment->first <= range.largest; ++fragment) {
    least = std::min(least, NewestOf(fragment->second, at));
  }
  return least;
}

SequenceNumber RangeTombstones::OldestOverAll(const RangeTombstone& tombstone) const {
  const auto fragment = Holding(tombstone.begin);
  if (fragment == fragments_.end()) {
    return SequenceNumber(0);
  }
  const Numbers& numbers = fragment->second;
  const auto newer = std::upper_bound(numbers.begin(), numbers.end(), tombstone.sequence);
  const auto covers = std::find_if(newer, numbers.end(), [&](SequenceNumber number) {
    return tombstone.end <= by_sequence_.at(number).second;
  });
  return covers == numbers.end() ? SequenceNumber(0) : *covers;
}

}  // namespace varve
