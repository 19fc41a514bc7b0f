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
  // Forgets everything. What is noted from now on goes into `record`, which may be kept, as long as it has
  // room; nullptr: nothing is to be kept.
  void Restart(std::shared_ptr<Listing> record);
  // The pass has shown, or will show, what a complete listing says and nothing else: that is remembered, all
  // of it.
  void Follow(std::shared_ptr<const Listing> listing);

  uint64_t end() const;
  // Precondition: ordinal < end(), and not before what is remembered. Valid until the next change.
  std::string_view At(uint64_t ordinal) const;
  // Empty: nothing is remembered.
  std::string_view Last() const;
  // The nearest known place at or before `passed`.
  PassedNames::Place Nearest(uint64_t passed) const;

  // An entry was shown. What is shown again, or has something before it that never was, is no news.
  void Note(const DirectoryEntry& entry, uint64_t ordinal);
  // An entry was passed over without having been shown: to find a place that is not remembered. No listing
  // comes of this pass.
  void NoteUnshown(std::string_view name, uint64_t ordinal);
  // What follows is numbered anew from `passed` on, if that lies before what is remembered one by one.
  // Precondition: Nearest(passed).passed == passed.
  void ForgetFrom(uint64_t passed);
  // Lets go of the oldest names that are too many, but of none from `keep_from` on.
  void Trim(uint64_t keep_from) { names_.Trim(keep_from); }

  // What is recorded so far; nullptr: nothing is.
  Listing* recorded() const { return recorded_.get(); }
  // What was recorded is complete. It is followed from now on.
  std::shared_ptr<Listing> Complete();

 private:
  void StopRecording();

  // One of the three remembers.
  std::shared_ptr<const Listing> followed_;
  std::shared_ptr<Listing> recorded_;
  PassedNames names_;
};

}  // namespace varve
