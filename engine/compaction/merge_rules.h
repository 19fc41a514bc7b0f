// Which versions of a key a merge keeps. One place for the rules of snapshots and tombstones, whatever way of
// merging asks: a wrong answer here loses or revives data.
//
// A version is visible to a reader at snapshot s when it is the newest one with sequence <= s. Readers are at
// the snapshots listed, and at any sequence not below the newest one in force when the list was taken. So, of
// all versions of one key, for each snapshot the newest one at or below it must stay, and the newest of all.
// A tombstone that must stay by that rule may still go when nobody can tell: no snapshot is older than it,
// and no older version of its key is in anything that is read after the output (the caller knows).
// A version that range tombstones hide from every reader that would see it goes, and what it hides itself is
// hidden by them, too; they stay where they are, in the Version (range_tombstones.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/internal_key.h"
#include "engine/base/range_tombstones.h"
#include "engine/base/units.h"
#include "engine/compaction/older_data.h"

namespace varve {

// The sequence numbers that readers hold, ascending, without duplicates.
using SnapshotList = std::vector<SequenceNumber>;

// Fed with every version that a merge reads, in internal-key order.
class MergeRules {
 public:
  // `older` nullptr: tombstones stay (older data may be anywhere). `ranges` nullptr: there are no range
  // tombstones; else it must outlive this, and readers of all listed snapshots see those that are not newer.
  MergeRules(SnapshotList snapshots, OlderData* older, const RangeTombstones* ranges = nullptr)
      : snapshots_(std::move(snapshots)),
        older_(older),
        ranges_(ranges),
        cover_(ranges == nullptr ? RangeCover() : ranges->CoverAt({}, kSequenceNumberMax)),
        purged_up_to_(ranges == nullptr ? SequenceNumber(0) : ranges->largest_sequence()) {}

  // Whether the version sorts with or behind the last one that was kept or dropped. Tables come from a
  // device: what they hold may be in any order.
  bool Follows(std::string_view internal_key) const;
  // Whether the version goes into the output. Precondition: Follows().
  bool Keep(std::string_view internal_key);
  // After a Keep that said so: it is kept only because the ranges of tables do not tell that nothing older of
  // its key is left, and their filters and blocks may (older_data()->MayHoldByTables).
  bool in_doubt() const { return in_doubt_; }
  OlderData& older_data() { return *older_; }
  // After a Keep that denied it: range tombstones hide it.
  bool hidden() const { return hidden_; }
  // What TableView::purged_up_to is of all that was kept so far.
  SequenceNumber purged_up_to() const { return purged_up_to_; }

 private:
  // Whether range tombstones hide the version from everybody from that snapshot on.
  bool IsHidden(std::string_view user_key, SequenceNumber sequence, size_t stripe);

  SnapshotList snapshots_;
  OlderData* older_;
  const RangeTombstones* ranges_;
  // Around the last key: the newest of all range tombstones.
  RangeCover cover_;
  SequenceNumber purged_up_to_;
  bool hidden_ = false;
  std::string user_key_;
  bool has_key_ = false;
  uint64_t last_trailer_ = 0;
  bool in_doubt_ = false;
  // Of the versions of user_key_ seen so far: the snapshot that the last one serves (index into snapshots_,
  // or snapshots_.size() for readers of the newest state).
  size_t last_stripe_ = 0;
};

}  // namespace varve
