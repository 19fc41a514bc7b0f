#include "fs/ops/kept_listings.h"

#include <utility>

namespace varve {

bool Listing::Append(const DirectoryEntry& entry) {
  const size_t bytes = PackedEntries::BytesOf(entry);
  if (entry_bytes_ + bytes > kBytesMax) {
    return false;
  }
  entry_bytes_ += bytes;
  const PackedEntries::Place place = entries_.Append(entry);
  if (size_ % kMarkEvery == 0) {
    marks_.push_back(place);
  }
  ++size_;
  return true;
}

void Listing::Complete() {
  is_complete_ = true;
  entries_.Shrink();
  marks_.shrink_to_fit();
}

PackedEntries::Place Listing::PlaceOf(uint64_t ordinal) const {
  PackedEntries::Place place = marks_[ordinal / kMarkEvery];
  for (uint64_t i = ordinal % kMarkEvery; i > 0; --i) {
    entries_.Read(place);
  }
  return place;
}

void Listing::Show(uint64_t first, DirectorySink& sink) const {
  if (first >= size_) {
    return;
  }
  PackedEntries::Place place = PlaceOf(first);
  while (place != entries_.end() && sink.Add(entries_.Read(place))) {
  }
}

InodeNumber Listing::first_inode() const {
  PackedEntries::Place place;
  return entries_.Read(place).inode;
}

std::string_view Listing::Name(uint64_t ordinal) const {
  PackedEntries::Place place = PlaceOf(ordinal);
  return entries_.Read(place).name;
}

std::shared_ptr<Listing> KeptListings::Find(InodeNumber directory, uint64_t version) {
  Order removed;
  const std::lock_guard lock(mutex_);
  const auto found = by_directory_.find(directory.value);
  if (found == by_directory_.end()) {
    return nullptr;
  }
  if ((*found->second)->version() != version) {
    RemoveLocked(found->second, removed);
    return nullptr;
  }
  order_.splice(order_.begin(), order_, found->second);
  return order_.front();
}

void KeptListings::Keep(std::shared_ptr<Listing> listing) {
  Order removed;
  const std::lock_guard lock(mutex_);
  const auto found = by_directory_.find(listing->directory().value);
  if (found != by_directory_.end()) {
    RemoveLocked(found->second, removed);
  }
  bytes_ += listing->bytes();
  order_.push_front(std::move(listing));
  by_directory_[order_.front()->directory().value] = order_.begin();
  while (bytes_ > kBytesMax) {
    RemoveLocked(std::prev(order_.end()), removed);
  }
}

void KeptListings::RemoveLocked(Order::iterator listing, Order& removed) {
  bytes_ -= (*listing)->bytes();
  by_directory_.erase((*listing)->directory().value);
  removed.splice(removed.end(), order_, listing);
}

size_t KeptListings::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace varve
