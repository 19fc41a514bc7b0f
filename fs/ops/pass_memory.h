// PassMemory: what one pass over a directory has shown, in order and numbered from 0. It is what an offset
// that was given out means, whatever has become of the directory since.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "fs/ops/kept_listings.h"
#include "fs/ops/passed_names.h"

namespace varve {

// One caller at a time. Memory: that of a Listing, or what PassedNames keeps of more names.
class PassMemory {
 public:
  // Forgets everything. A complete `listing` is what the pass shows, and nothing else: that is remembered,
  // all of it. What is noted goes into one that is not complete, as long as it has room. nullptr: nothing is
  // to be kept of the pass.
  void Restart(std::shared_ptr<Listing> listing);

  uint64_t end() const;
  // Precondition: ordinal < end(), and not before what is remembered. Valid until the next change.
  std::string_view At(uint64_t ordinal) const;
  // Empty: nothing is remembered.
  std::string_view Last() const;
  // The nearest known place at or before `passed`.
  PassedNames::Place Nearest(uint64_t passed) const;

  // An entry was shown. What is shown again, or has something before it that never was, is no news.
  void Note(const DirectoryEntry& entry, uint64_t ordinal) {
    if (listing_ != nullptr && !listing_->is_complete() && ordinal == listing_->size() &&
        listing_->Append(entry)) [[likely]] {
      return;
    }
    NoteName(entry, ordinal);
  }
  // An entry was passed over without having been shown: to find a place that is not remembered. No listing
  // comes of this pass.
  void NoteUnshown(std::string_view name, uint64_t ordinal);
  // What follows is numbered anew from `passed` on, if that lies before what is remembered one by one.
  // Precondition: Nearest(passed).passed == passed.
  void ForgetFrom(uint64_t passed);
  // Lets go of the oldest names that are too many, but of none from `keep_from` on.
  void Trim(uint64_t keep_from) { names_.Trim(keep_from); }

  // What remembers the pass, complete or not; nullptr: only its names are remembered.
  const std::shared_ptr<Listing>& listing() const { return listing_; }

 private:
  // Of one that no listing took.
  void NoteName(const DirectoryEntry& entry, uint64_t ordinal);
  void StopRecording();

  bool is_known() const { return listing_ != nullptr && listing_->is_complete(); }

  // One of the two remembers.
  std::shared_ptr<Listing> listing_;
  PassedNames names_;
};

}  // namespace varve
