// UserIterator: what a user sees of a walk over internal keys: of each key the newest version that the
// snapshot sees, and nothing where that version is a tombstone, or range tombstones hide it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/internal_key.h"
#include "engine/base/key_range.h"
#include "engine/store/range_covers.h"
#include "engine/store/store.h"
#include "engine/table/internal_iterator.h"

namespace varve {

// Hears of walks that step over many tombstones at once. Any thread; must not block.
class TombstoneObserver {
 public:
  virtual ~TombstoneObserver() = default;
  // One move of an iterator has passed so many tombstones, from the first of these user keys to the last.
  virtual void OnTombstonesPassed(const KeyRangeView& range, uint64_t tombstones) = 0;
};

// Used by one coroutine at a time. How it stands between two moves:
// forward, `source_` is on the entry that is shown; backward, `inner_` is on the last entry before the
// versions of the key that is shown (or at an end), and key and value are copies, because the newest visible
// version is known only after all older ones have been passed.
class UserIterator final : public StoreIterator {
 public:
  // `pinned` is whatever keeps what `inner` walks over in place; it is let go last. `covers`: what range
  // tombstones hide at the snapshot; nullptr: there are none. `observer` may be nullptr.
  UserIterator(std::shared_ptr<const void> pinned, std::unique_ptr<InternalIterator> inner,
               std::unique_ptr<WalkCovers> covers, SequenceNumber snapshot, std::string_view lower,
               std::string_view upper, TombstoneObserver* observer = nullptr)
      : pinned_(std::move(pinned)),
        inner_(std::move(inner)),
        covers_(std::move(covers)),
        snapshot_(snapshot),
        lower_(lower),
        upper_(upper),
        observer_(observer),
        source_(inner_.get()) {}

  Step Seek(std::string_view key) override;
  Step SeekForPrev(std::string_view key) override;
  Step Next() override;
  Step Prev() override;
  Task<void> Load() override;

  bool Valid() const override { return valid_; }
  std::string_view key() const override {
    return backward_ ? std::string_view(key_) : UserKeyOf(source_->key());
  }
  std::string_view value() const override { return backward_ ? std::string_view(value_) : source_->value(); }
  Status status() const override { return status_; }

 private:
  // Go on, from wherever source_ stands, until a key can be shown, an end is reached or a block is missing:
  // all that they need to know is in the members, so after a Load they are simply called again.
  Step FindForward();
  Step FindBackward();
  Step Wait();
  Step EndBackward();
  // Keys come in order, each once, and within the bounds, whatever tables from a device hold: or the walk
  // ends here.
  Step FailOutOfOrder();
  // Forward.
  Step SeekInner(std::string_view internal_key);
  Step MoveForward();
  // Where the walk ends.
  std::optional<std::string_view> End() const {
    return upper_.empty() ? std::nullopt : std::optional<std::string_view>(upper_);
  }
  // Moves go on by the source that has what comes next, or by inner_ again.
  void GoOnAlone();
  void GoOnTogether();
  // Where source_ has come to its end: whether inner_ goes on.
  bool LeaveSource();
  // What source_ stands on. False, and the walk is over, when it failed or met bytes that are no internal
  // key.
  bool ReadInnerKey(std::string_view& key);
  // Whether the record of this internal key, which the snapshot sees, says that its key is not there.
  bool IsDeletion(std::string_view key) const {
    return KindOf(key) == RecordKind::kTombstone ||
           (covers_ != nullptr && SequenceOf(key) < covers_->Over(UserKeyOf(key)).newest);
  }
  // At the end of a move forward.
  Step EndForward();

  std::shared_ptr<const void> pinned_;
  std::unique_ptr<InternalIterator> inner_;
  const std::unique_ptr<WalkCovers> covers_;
  const SequenceNumber snapshot_;
  const std::string lower_;
  const std::string upper_;
  TombstoneObserver* const observer_;

  // What is moved: inner_; or, forward, one of its sources, up to a user key (InternalIterator::Foremost).
  InternalIterator* source_;
  // That key or upper_, whichever comes first; nullopt: neither is there.
  std::optional<std::string_view> until_;
  // Moves since the source was left: those who take turns are better walked together.
  uint32_t together_ = 0;
  bool valid_ = false;
  bool waiting_ = false;
  bool backward_ = false;
  Status status_;

  // Forward: versions of key_ are to be passed over (its newest visible one was shown, or is a tombstone).
  bool skip_ = false;
  size_t skipped_ = 0;
  // Tombstones that this move has passed; the first one's key. Only where somebody listens.
  uint64_t tombstones_ = 0;
  std::string first_tombstone_;
  // Backward: keys at or after bound_ are to be passed over; key_ is the candidate while has_candidate_.
  bool has_bound_ = false;
  std::string bound_;
  bool has_candidate_ = false;
  bool candidate_lives_ = false;
  std::string key_;
  std::string value_;
};

}  // namespace varve
