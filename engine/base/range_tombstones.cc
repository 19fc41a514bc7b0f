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

// Whether everybody who sees `older` sees `newer` as well.
bool AllSeeNewer(SequenceNumber older, SequenceNumber newer, RangeReaders readers) {
  if (readers.empty() || readers.back() < newer) {
    return false;
  }
  return *std::lower_bound(readers.begin(), readers.end(), older) >= newer;
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

void RangeTombstones::JoinAll(Fragments::iterator first, Fragments::iterator last) {
  // From behind, so that each is compared with what it will follow.
  for (auto fragment = last;;) {
    const bool is_first = fragment == first;
    const auto before = is_first ? fragment : std::prev(fragment);
    if (fragment != fragments_.end()) {
      JoinWithBefore(fragment);
    }
    if (is_first) {
      break;
    }
    fragment = before;
  }
}

void RangeTombstones::Add(RangeTombstone tombstone, RangeReaders readers) {
  Check(tombstone.begin < tombstone.end, "a range tombstone covers nothing");
  const SequenceNumber sequence = tombstone.sequence;
  memory_bytes_ += MemoryOf(tombstone.begin, tombstone.end);
  // The end first: what is split off there has what covered it before.
  const auto end = SplitAt(tombstone.end);
  const auto begin = SplitAt(tombstone.begin);
  for (auto fragment = begin; fragment != end; ++fragment) {
    Numbers& numbers = fragment->second;
    auto added = numbers.insert(std::upper_bound(numbers.begin(), numbers.end(), sequence), sequence);
    numbers_++;
    if (added != numbers.begin() && AllSeeNewer(*std::prev(added), sequence, readers)) {
      added = numbers.erase(std::prev(added));
      numbers_--;
    }
    if (std::next(added) != numbers.end() && AllSeeNewer(sequence, *std::next(added), readers)) {
      numbers.erase(added);
      numbers_--;
    }
  }
  if (!readers.empty()) {
    JoinAll(begin, end);
  }
  const bool is_new =
      by_sequence_.emplace(sequence, std::make_pair(std::move(tombstone.begin), std::move(tombstone.end)))
          .second;
  Check(is_new, "two range tombstones have one sequence number");
}

void RangeTombstones::Prune(RangeReaders readers) {
  if (readers.empty() || fragments_.empty()) {
    return;
  }
  for (auto& [begin, numbers] : fragments_) {
    size_t kept = 0;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (i + 1 == numbers.size() || !AllSeeNewer(numbers[i], numbers[i + 1], readers)) {
        numbers[kept++] = numbers[i];
      }
    }
    numbers_ -= numbers.size() - kept;
    numbers.resize(kept);
  }
  JoinAll(fragments_.begin(), fragments_.end());
}

bool RangeTombstones::Remove(SequenceNumber sequence) {
  const auto found = by_sequence_.find(sequence);
  if (found == by_sequence_.end()) {
    return false;
  }
  const auto& [begin, end] = found->second;
  // Where it is listed no longer, its ends may be those of no part.
  const auto first = fragments_.lower_bound(begin);
  const auto last = fragments_.lower_bound(end);
  for (auto fragment = first; fragment != last; ++fragment) {
    numbers_ -= std::erase(fragment->second, sequence);
  }
  JoinAll(first, last);
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

bool RangeTombstones::IsUnderNewer(const RangeTombstone& tombstone) const {
  return std::all_of(fragments_.lower_bound(tombstone.begin), fragments_.lower_bound(tombstone.end),
                     [&](const auto& fragment) {
                       const Numbers& numbers = fragment.second;
                       return numbers.empty() || numbers.back() != tombstone.sequence;
                     });
}

std::vector<SequenceNumber> RangeTombstones::Shadowed(RangeReaders readers) const {
  std::vector<SequenceNumber> shadowed;
  shadowed.reserve(by_sequence_.size());
  for (const auto& [sequence, range] : by_sequence_) {
    shadowed.push_back(sequence);
  }
  std::vector<bool> needed(shadowed.size());
  for (const auto& [begin, numbers] : fragments_) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (i + 1 == numbers.size() || !AllSeeNewer(numbers[i], numbers[i + 1], readers)) {
        needed[static_cast<size_t>(std::lower_bound(shadowed.begin(), shadowed.end(), numbers[i]) -
                                   shadowed.begin())] = true;
      }
    }
  }
  size_t kept = 0;
  for (size_t i = 0; i < shadowed.size(); ++i) {
    if (!needed[i]) {
      shadowed[kept++] = shadowed[i];
    }
  }
  shadowed.resize(kept);
  return shadowed;
}

}  // namespace varve
