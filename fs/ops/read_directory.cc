// opendir, readdir, readdirplus, releasedir.
#include <utility>

#include "engine/ring/spawn_on.h"
#include "fs/namespace/namespace_format.h"
#include "fs/ops/access_times.h"
#include "fs/ops/filesystem.h"
#include "fs/ops/filesystem_core.h"

namespace varve {

namespace {

// Offsets 1 and 2 follow "." and ".."; offset n + 2 follows n entries that the stream has passed.
constexpr uint64_t kDots = 2;

Task<Status> AddDots(FileSystemCore& core, InodeNumber directory, uint64_t offset, DirectorySink& sink,
                     bool& full) {
  Result<LoadedInode> loaded = co_await core.Load(directory);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  for (uint64_t i = offset; i < kDots && !full; ++i) {
    DirectoryEntry entry;
    entry.name = i == 0 ? "." : "..";
    entry.inode = i == 0 ? directory : loaded->inode().parent;
    entry.mode = S_IFDIR;
    entry.next_offset = i + 1;
    full = !sink.Add(entry);
  }
  co_return Status();
}

// Of a slice of a walk ahead, in which nothing else of the background runs: some 50 us.
constexpr uint64_t kEntriesASlice = 256;

class SliceAhead final : public DirectorySink {
 public:
  explicit SliceAhead(ListingAhead& ahead) : ahead_(ahead) {}

  bool Add(const DirectoryEntry& entry) override {
    if (added_ == kEntriesASlice) {
      return false;
    }
    ++added_;
    is_full_ = !ahead_.Keep(entry);
    return !is_full_;
  }
  // Not the slice, but what may be held at all.
  bool is_full() const { return is_full_; }

 private:
  ListingAhead& ahead_;
  uint64_t added_ = 0;
  bool is_full_ = false;
};

// Passes entries on with the offsets of their pass, and lets the stream note what was taken.
class PassSink final : public DirectorySink {
 public:
  PassSink(DirectoryStream& stream, DirectorySink& into) : stream_(stream), into_(into) {}

  bool Add(const DirectoryEntry& entry) override {
    if (stream_.offset_base() == 0 ? !into_.Add(entry) : !AddMoved(entry)) {
      return false;
    }
    if (entry.next_offset > kDots) {
      stream_.NotePassed(entry, entry.next_offset - kDots - 1);
    }
    return true;
  }

 private:
  bool AddMoved(DirectoryEntry entry) {
    entry.next_offset += stream_.offset_base();
    return into_.Add(entry);
  }

  DirectoryStream& stream_;
  DirectorySink& into_;
};

// The entries that a stream has passed at an offset.
uint64_t PassedAt(uint64_t offset) {
  return offset < kDots ? 0 : offset - kDots;
}

}  // namespace

Task<Result<OpenedDirectory>> FileSystem::OpenDirectory(InodeNumber inode) {
  Result<LoadedInode> loaded = co_await core_->Load(inode);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  if (!loaded->inode().is_directory()) {
    co_return Error(ErrorCode::kNotDirectory, "not a directory");
  }
  auto stream = std::make_shared<DirectoryStream>(core_->store, inode);
  const uint64_t version = core_->locks.Version(inode);
  const std::shared_ptr<Listing> listing = KnownListing(inode, version);
  stream->Restart(listing);
  OpenedDirectory opened;
  opened.handle = core_->streams.Add(stream);
  // A reading of which the time is to be noted has to be seen.
  if (listing == nullptr || !listing->IsWorthKeeping() || AccessIsDue(*core_, loaded->inode()) ||
      !core_->streams.TryLetKernelKeep(*stream, version)) {
    co_return opened;
  }
  opened.may_keep = true;
  // The kernel begins a listing by asking for attributes as well. Where it has forgotten the first, it asks
  // for many by one request if it has to list anew, and for each by one of its own if it has not.
  opened.may_keep_earlier =
      listing->ExchangeOffered() && (listing->size() == 0 || core_->nodes.Contains(listing->first_inode()));
  co_return opened;
}

std::shared_ptr<Listing> FileSystem::KnownListing(InodeNumber directory, uint64_t version) {
  return core_->streams.AreFew() ? core_->listings.Find(directory, version) : nullptr;
}

Task<void> FileSystem::BeginPass(DirectoryStream& stream) {
  const InodeNumber directory = stream.inode();
  const std::optional<Result<LoadedInode>> loaded = core_->TryLoad(directory);
  if (loaded && loaded->ok() && AccessIsDue(*core_, (*loaded)->inode())) {
    co_await NoteAccess(*core_, directory);
  }
  const uint64_t version = core_->locks.Version(directory);
  std::shared_ptr<Listing> listing = stream.ListingAt(version);
  if (listing == nullptr) {
    listing = KnownListing(directory, version);
  }
  // Nothing is noted of a directory that somebody is changing.
  if (listing == nullptr && core_->streams.AreFew() && core_->locks.Unchanged(directory, version)) {
    listing = std::make_shared<Listing>(directory, version);
  }
  stream.Restart(std::move(listing));
  // What the kernel keeps may be half of the listing of which it was let keep the whole.
  const bool may_add_to_another = stream.kernel_keeps() && *stream.kernel_keeps() != version;
  stream.set_offset_base(may_add_to_another ? core_->streams.NewOffsetBase() : 0);
}

Task<Status> FileSystem::List(DirectoryHandle handle, uint64_t offset, DirectorySink& sink, bool plus) {
  const std::shared_ptr<DirectoryStream> stream = core_->streams.Find(handle);
  if (stream == nullptr) {
    co_return Error(ErrorCode::kStale, "no such open directory");
  }
  ListingAhead& ahead = stream->ahead();
  co_await ahead.Claim();
  if (offset == 0) {
    co_await BeginPass(*stream);
  }
  offset &= (uint64_t{1} << DirectoryStreams::kPlaceBits) - 1;
  const uint64_t version = core_->locks.Version(stream->inode());
  stream->CountRequest();
  PassSink pass(*stream, sink);
  if (!plus && ahead.Holds(offset, version)) {
    ahead.Take(pass);
    if (!ahead.is_short()) {
      if (ahead.is_wanted()) {
        co_await OfferWalk(stream, ahead.offset());
      }
      co_return Status();
    }
    offset = ahead.offset();
  } else {
    ahead.Discard();
  }
  bool full = false;
  if (offset < kDots) {
    Status added = co_await AddDots(*core_, stream->inode(), offset, pass, full);
    if (!added.ok() || full) {
      co_return added;
    }
  }
  // Whoever asks for attributes a second time wants them all.
  const bool names_follow = !plus || offset == 0;
  const std::shared_ptr<Listing> known = stream->ListingAt(version);
  if (known != nullptr && !plus) {
    known->Show(PassedAt(offset), pass);
    co_return Status();
  }
  Status listed = co_await stream->MoveTo(PassedAt(offset), plus);
  if (listed.ok()) {
    listed = co_await ListStream(*stream, pass, plus, version);
  }
  const bool more = listed.ok() && stream->Valid();
  const uint64_t next_offset = more ? stream->passed() + kDots : 0;
  if (listed.ok() && !more) {
    std::shared_ptr<Listing> listing = stream->FinishRecording(core_->locks.Version(stream->inode()));
    if (listing != nullptr) {
      core_->listings.Keep(std::move(listing));
    }
  }
  co_await stream->Rest();
  if (more && names_follow && known == nullptr && ahead.is_wanted()) {
    co_await OfferWalk(stream, next_offset);
  }
  co_return listed;
}

Task<void> FileSystem::OfferWalk(std::shared_ptr<DirectoryStream> stream, uint64_t offset) {
  if (!core_->streams.TryBeginWalk()) {
    co_return;
  }
  const bool starts = co_await stream->ahead().Offer(offset);
  if (starts) {
    SpawnOn(core_->background, WalkAhead(std::move(stream)));
  } else {
    core_->streams.EndWalk();
  }
}

Task<void> FileSystem::WalkAhead(std::shared_ptr<DirectoryStream> stream) {
  ListingAhead& ahead = stream->ahead();
  if (ahead.Begin()) {
    const uint64_t version = core_->locks.Version(stream->inode());
    Status walked = co_await stream->MoveTo(PassedAt(ahead.offset()), false);
    bool goes_on = walked.ok();
    while (goes_on) {
      SliceAhead slice(ahead);
      walked = co_await ListStream(*stream, slice, false, version);
      goes_on = walked.ok() && stream->Valid() && !slice.is_full() &&
                !ahead.IsMissed(core_->clock.MonotonicNanos());
      if (goes_on) {
        co_await Executor::Current().Yield();
      }
    }
    const bool at_end = walked.ok() && !stream->Valid();
    co_await stream->Rest();
    // An error comes again when somebody asks for what lies there.
    ahead.End(version, at_end);
  }
  core_->streams.EndWalk();
}

Task<Result<Attributes>> FileSystem::LookupListed(DirectoryStream& stream, uint64_t version) {
  const Result<DirentRecord> dirent = DecodeDirent(stream.value());
  // Of a file that the kernel knows, a request may have changed the attributes since the walk began, and been
  // answered: the kernel must not get those of before.
  if (dirent.ok() && dirent->embedded && !core_->nodes.Contains(dirent->embedded->inode.number)) {
    std::optional<Result<Attributes>> found =
        TryAcquireEmbedded(stream.inode(), stream.name(), dirent->embedded->inode, version);
    if (found) {
      co_return std::move(*found);
    }
  }
  co_return co_await Lookup(stream.inode(), stream.name());
}

Task<Status> FileSystem::ListStream(DirectoryStream& stream, DirectorySink& sink, bool plus,
                                    uint64_t version) {
  while (stream.Valid()) {
    const Result<DirentSummary> dirent = DecodeDirentSummary(stream.value());
    if (!dirent.ok()) {
      co_return dirent.error();
    }
    DirectoryEntry entry;
    entry.name = stream.name();
    entry.inode = dirent->inode;
    entry.mode = dirent->type;
    entry.next_offset = stream.passed() + kDots + 1;
    Attributes attributes;
    if (plus) {
      Result<Attributes> found = co_await LookupListed(stream, version);
      if (found.ok()) {
        attributes = *found;
        entry.inode = attributes.inode;
        entry.mode = attributes.mode & S_IFMT;
        entry.attributes = &attributes;
      }
    }
    if (!sink.Add(entry)) {
      if (entry.attributes != nullptr) {
        core_->Forget(attributes.inode, 1);
      }
      co_return Status();
    }
    if (stream.Next() == Step::kNeedsIo) {
      co_await stream.Load();
    }
  }
  co_return stream.status();
}

Task<Status> FileSystem::ReadDirectory(DirectoryHandle handle, uint64_t offset, DirectorySink& sink) {
  co_return co_await List(handle, offset, sink, false);
}

Task<Status> FileSystem::ReadDirectoryPlus(DirectoryHandle handle, uint64_t offset, DirectorySink& sink) {
  co_return co_await List(handle, offset, sink, true);
}

void FileSystem::ReleaseDirectory(DirectoryHandle handle) {
  core_->streams.Remove(handle);
}

}  // namespace varve
