// CoveredRunSkipper: a walk over one sorted run that jumps over what range tombstones hide, so that a seek
// into a range that was just deleted costs two searches of each run, however much the range held.
//
// A record is passed over where its whole table is older than what covers it: then so is everything of the
// table up to the end of the cover. In tables that also hold newer records the walk goes step by step, and
// hidden ones are passed on: who reads the merged walk leaves them out (store_iterator.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/store/range_covers.h"
#include "engine/table/internal_iterator.h"
#include "engine/version/live_table.h"
#include "engine/version/sorted_tables.h"

namespace varve {

// What the walk goes over: one table, or the tables of a run.
class CoveredRun {
 public:
  // Either must outlive it.
  explicit CoveredRun(const LiveTable& table) : table_(&table) {}
  explicit CoveredRun(const SortedTables& run) : run_(&run) {}

  // Whether the table that holds the key has only records older than `sequence`.
  bool IsOlder(std::string_view user_key, SequenceNumber sequence) const;
  // Where a walk goes on from the key, with nothing but such records under `cover` between: an internal key.
  // Preconditions: `cover` holds for the key, and IsOlder.
  std::string Behind(std::string_view user_key, const RangeCover& cover) const;
  // The same for a walk backward.
  std::string Before(std::string_view user_key, const RangeCover& cover) const;

 private:
  const LiveTable* table_ = nullptr;
  const SortedTables* run_ = nullptr;
};

class CoveredRunSkipper final : public InternalIterator {
 public:
  // `inner` walks over `run`.
  CoveredRunSkipper(std::unique_ptr<InternalIterator> inner, CoveredRun run, WalkCovers covers)
      : inner_(std::move(inner)), run_(run), covers_(std::move(covers)) {}

  Step Seek(std::string_view internal_key) override;
  Step SeekForPrev(std::string_view internal_key) override;
  Step SeekToFirst() override;
  Step SeekToLast() override;
  Step Next() override;
  Step Prev() override;
  Task<void> Load() override;

  bool Valid() const override { return inner_->Valid(); }
  std::string_view key() const override { return inner_->key(); }
  std::string_view value() const override { return inner_->value(); }
  Status status() const override { return inner_->status(); }
  CacheStanding standing() const override { return inner_->standing(); }

 private:
  bool IsPassedOver(std::string_view user_key, SequenceNumber sequence);
  // Goes on from where the inner walk stands to what is not passed over.
  Step Skip();
  Step SkipAfter(Step step) { return step == Step::kNeedsIo ? step : Skip(); }

  std::unique_ptr<InternalIterator> inner_;
  const CoveredRun run_;
  WalkCovers covers_;
  bool forward_ = true;
  // In a row, without a jump.
  size_t steps_ = 0;
};

}  // namespace varve
