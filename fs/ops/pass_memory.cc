#include "fs/ops/pass_memory.h"

#include <algorithm>
#include <string>
#include <utility>

namespace varve {

namespace {

class NamesSink final : public DirectorySink {
 public:
  explicit NamesSink(PassedNames& names) : names_(names) {}

  bool Add(const DirectoryEntry& entry) override {
    names_.Append(entry.name);
    return true;
  }

 private:
  PassedNames& names_;
};

PassedNames::Place NearestIn(const Listing& listing, uint64_t passed) {
  const uint64_t known = std::min(passed, listing.size());
  return known == 0 ? PassedNames::Place() : PassedNames::Place{known, std::string(listing.Name(known - 1))};
}

}  // namespace

void PassMemory::Restart(std::shared_ptr<Listing> record) {
  followed_ = nullptr;
  recorded_ = std::move(record);
  names_.Clear();
}

void PassMemory::Follow(std::shared_ptr<const Listing> listing) {
  followed_ = std::move(listing);
  recorded_ = nullptr;
  names_.Clear();
}

uint64_t PassMemory::end() const {
  if (followed_ != nullptr) {
    return followed_->size();
  }
  return recorded_ != nullptr ? recorded_->size() : names_.end();
}

std::string_view PassMemory::At(uint64_t ordinal) const {
  if (followed_ != nullptr) {
    return followed_->Name(ordinal);
  }
  return recorded_ != nullptr ? recorded_->Name(ordinal) : names_.At(ordinal);
}

std::string_view PassMemory::Last() const {
  const bool by_names = followed_ == nullptr && recorded_ == nullptr;
  const bool is_empty = by_names ? names_.first() == names_.end() : end() == 0;
  return is_empty ? std::string_view() : At(end() - 1);
}

PassedNames::Place PassMemory::Nearest(uint64_t passed) const {
  if (followed_ != nullptr) {
    return NearestIn(*followed_, passed);
  }
  return recorded_ != nullptr ? NearestIn(*recorded_, passed) : names_.Nearest(passed);
}

void PassMemory::Note(const DirectoryEntry& entry, uint64_t ordinal) {
  if (followed_ != nullptr || ordinal != end()) {
    return;
  }
  if (recorded_ != nullptr && recorded_->Append(entry)) {
    return;
  }
  StopRecording();
  names_.Append(entry.name);
}

void PassMemory::NoteUnshown(std::string_view name, uint64_t ordinal) {
  if (followed_ == nullptr && ordinal == end()) {
    StopRecording();
    names_.Append(name);
  }
}

void PassMemory::ForgetFrom(uint64_t passed) {
  if (followed_ == nullptr && recorded_ == nullptr && passed < names_.first()) {
    names_.Forget(passed);
  }
}

std::shared_ptr<Listing> PassMemory::Complete() {
  std::shared_ptr<Listing> complete = std::move(recorded_);
  complete->Complete();
  Follow(complete);
  return complete;
}

void PassMemory::StopRecording() {
  if (recorded_ != nullptr) {
    NamesSink sink(names_);
    recorded_->Show(0, sink);
    recorded_ = nullptr;
  }
}

}  // namespace varve
