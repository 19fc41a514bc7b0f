// Open directories: each goes through its entries in name order. Between two calls it holds nothing of the
// store: it goes on behind the last name that was passed, in the directory as it then is. So a name that is
// there all the time is shown exactly once, one that comes or goes meanwhile once or not at all, and space
// comes back while directories are open.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "engine/base/result.h"
#include "engine/base/step.h"
#include "engine/ring/task.h"
#include "engine/store/store.h"
#include "fs/ops/filesystem.h"
#include "fs/ops/kept_listings.h"
#include "fs/ops/listing_ahead.h"
#include "fs/ops/pass_memory.h"

namespace varve {

// One caller at a time, as ahead() says. Places are counted in entries that were passed, "." and ".." not
// among them. A place that was shown means the same until the pass is restarted, even if its names are gone;
// going back shows no names that came since. Only what lies further back than PassMemory remembers is found
// by counting.
class DirectoryStream {
 public:
  DirectoryStream(Store& store, InodeNumber inode) : store_(store), inode_(inode) {}

  InodeNumber inode() const { return inode_; }
  // Entries that were walked over before they are asked for, and whose turn it is to walk. Restart leaves it
  // alone.
  ListingAhead& ahead() { return ahead_; }
  // Begins a new pass. It shows what `listing` says, if that is complete, and is still there; else the
  // directory as it is at the next MoveTo, which is noted there. nullptr: nothing is to be kept of the pass.
  void Restart(std::shared_ptr<Listing> listing);
  // What the pass shows, if the directory is at that version and somebody has walked over all of it; or
  // nullptr.
  std::shared_ptr<Listing> ListingAt(uint64_t version) const;
  // An entry was shown.
  void NotePassed(const DirectoryEntry& entry, uint64_t ordinal) { memory_.Note(entry, ordinal); }
  // A request was answered, or is about to be.
  void CountRequest();
  // Called behind a walk to the end, before Rest, with the directory at `version`. What was noted is
  // complete, and returned, if it is all of that and was not known before.
  std::shared_ptr<Listing> FinishRecording(uint64_t version);
  // In every offset of the pass: those of different passes through one handle are different where the kernel
  // may keep what it shows, since it adds to what it has wherever an offset fits (fuse_add_dirent_to_cache).
  uint64_t offset_base() const { return offset_base_; }
  void set_offset_base(uint64_t base) { offset_base_ = base; }
  // The version of the directory of which the kernel may keep what the handle shows, since it was opened;
  // nullopt: it may not.
  std::optional<uint64_t> kernel_keeps() const { return kernel_keeps_; }
  void set_kernel_keeps(uint64_t version) { kernel_keeps_ = version; }
  // Behind `passed` entries, or to the end, on the newest state of the store, which is then held until Rest.
  // Without `whole_values`, value() is what DecodeDirentSummary needs of it at least.
  Task<Status> MoveTo(uint64_t passed, bool whole_values);
  // Passes the entry, which NotePassed has noted if it was shown; kNeedsIo: Load() completes it.
  // Precondition: Valid().
  [[nodiscard]] Step Next();
  Task<void> Load();
  // What ended it, where it is not Valid().
  Status status() const { return iterator_ != nullptr ? iterator_->status() : Status(); }
  // Ends what MoveTo began: nothing of the store is held any more.
  Task<void> Rest();
  bool Valid() const { return iterator_ != nullptr && iterator_->Valid(); }
  // The next three: precondition Valid().
  uint64_t passed() const { return passed_; }
  std::string_view name() const { return name_; }
  std::string_view value() const { return iterator_->value(); }

 private:
  Task<void> Seek(const PassedNames::Place& place);
  // The iterator has moved, or is about to: walks on to what may be shown.
  Step Settle(Step moved);
  // What the iterator stands on. Precondition: it is Valid().
  std::string_view NameAtIterator() const;
  // Whether the entry name_ is to be shown; notes that remembered names before it are gone.
  bool MayBeShown();
  // A pass ends where the directory ended when its first call did: who makes or renames a file for each one
  // that is shown would often come to no end otherwise.
  Task<void> NoteEnd();

  Store& store_;
  const InodeNumber inode_;
  std::unique_ptr<StoreIterator> iterator_;  // between MoveTo and Rest
  uint64_t keep_from_ = 0;                   // names before may be trimmed
  uint64_t passed_ = 0;
  std::string_view name_;  // of the entry that is shown
  PassMemory memory_;
  // What was read ahead for one call is there for the next.
  ReadAheadMarks marks_;
  // Of the last MoveTo.
  bool whole_values_ = false;
  std::optional<std::string> last_name_;  // nothing behind it is shown in this pass
  uint64_t offset_base_ = 0;
  std::optional<uint64_t> kernel_keeps_;
  ListingAhead ahead_;
};

// Any thread.
class DirectoryStreams {
 public:
  // With more open directories than that nothing is walked ahead of listings, and none is kept, so that they
  // hold little memory.
  static constexpr size_t kFewMax = 64;
  // Of an offset, without its base.
  static constexpr int kPlaceBits = 40;

  DirectoryHandle Add(std::shared_ptr<DirectoryStream> stream);
  // nullptr: no such handle.
  std::shared_ptr<DirectoryStream> Find(DirectoryHandle handle) const;
  void Remove(DirectoryHandle handle);
  // Whether the kernel may keep what this open directory shows, and answer its reader from what it kept: one
  // of each directory may at a time. Were there two, and the directory changed, one of them could renew what
  // the kernel keeps while the other stands in the midst of it, at an offset that means another name there.
  // Lasts until Remove; `version` is that of the directory now.
  bool TryLetKernelKeep(DirectoryStream& stream, uint64_t version);
  // Whether so few are open that each may hold a listing.
  bool AreFew() const;
  // For DirectoryStream::set_offset_base: another each time, in the bits above kPlaceBits.
  uint64_t NewOffsetBase() {
    return (bases_.fetch_add(1, std::memory_order_relaxed) % kBasesMax + 1) << kPlaceBits;
  }
  // False: there is to be no walk ahead of a listing now. Otherwise EndWalk is the last that it does.
  bool TryBeginWalk();
  void EndWalk();
  // All of them: the store is about to close. Waits for walks ahead.
  Task<void> Close();

 private:
  // Offsets are signed.
  static constexpr uint64_t kBasesMax = uint64_t{1} << (62 - kPlaceBits);

  std::atomic<uint64_t> bases_{0};
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<DirectoryStream>> streams_;
  std::unordered_set<uint64_t> kept_by_kernel_;  // numbers of directories
  uint64_t next_ = 1;
  size_t walks_ = 0;
};

}  // namespace varve
