// Range tombstones: deletions of all keys in [begin, end), each with the sequence number at which it took
// effect. RangeTombstones is a set of them that answers which is the newest over a key.
//
// A record is hidden from a reader at snapshot s when some range tombstone T covers its key and
//   record's sequence number < T's sequence number <= s,
// wherever the record lies: that is all that a range tombstone means (docs/design/range-deletes.md).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/key_range.h"
#include "engine/base/units.h"

namespace varve {

struct RangeTombstone {
  std::string begin;  // a user key
  std::string end;    // behind the last; begin < end
  SequenceNumber sequence;

  bool operator==(const RangeTombstone&) const = default;
};

// What hides records of a key from readers at one snapshot, and for which keys that answer is the same.
struct RangeCover {
  // Records with smaller numbers are hidden. 0: none is.
  SequenceNumber newest;
  // Holds for [begin, end); an empty end is none.
  std::string begin;
  std::string end;

  bool HoldsFor(std::string_view user_key) const {
    return begin <= user_key && (end.empty() || user_key < end);
  }
  // Narrows to the keys for which both hold, and hides what either hides.
  void Add(const RangeCover& other);
};

// Who reads a set: the sequence numbers of their snapshots, ascending, and as the last a state that everybody
// sees who comes later. Empty: nothing is known of them.
using RangeReaders = std::span<const SequenceNumber>;

// Where they overlap, ranges make parts of each other, and each part lists those that cover it. To a reader
// the newest that he sees is all that counts, so lists keep one for each interval between two readers: who is
// none of the readers that were named must not ask.
//
// Threads: as a std::map.
class RangeTombstones {
 public:
  // Precondition: begin < end, and no other has its sequence number. Where it covers others, or they it,
  // lists keep those that one of `readers` needs.
  void Add(RangeTombstone tombstone, RangeReaders readers = {});
  // The same in all parts, once readers have gone. What no list names any more is still one of the set.
  void Prune(RangeReaders readers);
  // False: there is none of that number.
  bool Remove(SequenceNumber sequence);

  std::optional<RangeTombstone> Find(SequenceNumber sequence) const;

  bool empty() const { return by_sequence_.empty(); }
  size_t size() const { return by_sequence_.size(); }
  // 0 where there are none.
  SequenceNumber largest_sequence() const;
  // About what it takes in memory: where ranges overlap, each may be listed by every part that it covers.
  size_t memory_bytes() const { return memory_bytes_ + numbers_ * sizeof(SequenceNumber); }
  // The same but for those lists.
  size_t unlisted_bytes() const { return memory_bytes_; }

  // Of those over the key that are not newer than `at`, the newest; 0: there is none.
  SequenceNumber NewestAt(std::string_view user_key, SequenceNumber at) const;
  RangeCover CoverAt(std::string_view user_key, SequenceNumber at) const;
  // Of those over the key that are newer than `than`, the oldest; 0: there is none.
  SequenceNumber OldestAfter(std::string_view user_key, SequenceNumber than) const;
  // Of those over any key of `range` that are not newer than `at`, the newest; 0: there is none.
  SequenceNumber NewestOver(const KeyRangeView& range, SequenceNumber at) const;
  // The least of what NewestAt says of the keys of `range`: what is older is hidden wherever in it it lies.
  SequenceNumber LeastOver(const KeyRangeView& range, SequenceNumber at) const;
  // Whether a newer one is listed wherever `tombstone` is: together they cover all of it that is not under
  // what has left the set meanwhile.
  bool IsUnderNewer(const RangeTombstone& tombstone) const;
  // Those that none of `readers` needs, ascending: whatever they cover is under newer ones, and everybody who
  // sees them sees these.
  std::vector<SequenceNumber> Shadowed(RangeReaders readers) const;

  // visit(tombstone), oldest first.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [sequence, range] : by_sequence_) {
      visit(RangeTombstone{range.first, range.second, sequence});
    }
  }

 private:
  using Numbers = std::vector<SequenceNumber>;  // ascending
  // From its key up to the next one, these cover every key; before the first, none does. Neighbours differ.
  using Fragments = std::map<std::string, Numbers, std::less<>>;

  // Makes `key` the beginning of a fragment.
  Fragments::iterator SplitAt(std::string_view key);
  void JoinWithBefore(Fragments::iterator fragment);
  // Each of [first, last], and `last` may be the end, with what is before it if that is the same.
  void JoinAll(Fragments::iterator first, Fragments::iterator last);
  Fragments::const_iterator Holding(std::string_view user_key) const;

  std::map<SequenceNumber, std::pair<std::string, std::string>> by_sequence_;
  Fragments fragments_;
  // Of the tombstones alone.
  size_t memory_bytes_ = 0;
  // In all fragments.
  size_t numbers_ = 0;
};

}  // namespace varve
