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

}  // namespace

void PassMemory::Restart(std::shared_ptr<Listing> listing) {
  listing_ = std::move(listing);
  names_.Clear();
}

uint64_t PassMemory::end() const {
  return listing_ != nullptr ? listing_->size() : names_.end();
}

std::string_view PassMemory::At(uint64_t ordinal) const {
  return listing_ != nullptr ? listing_->Name(ordinal) : names_.At(ordinal);
}

std::string_view PassMemory::Last() const {
  const bool is_empty = listing_ != nullptr ? listing_->size() == 0 : names_.first() == names_.end();
  return is_empty ? std::string_view() : At(end() - 1);
}

PassedNames::Place PassMemory::Nearest(uint64_t passed) const {
  if (listing_ == nullptr) {
    return names_.Nearest(passed);
  }
  const uint64_t known = std::min(passed, listing_->size());
  return known == 0 ? PassedNames::Place()
                    : PassedNames::Place{known, std::string(listing_->Name(known - 1))};
}

void PassMemory::NoteName(const DirectoryEntry& entry, uint64_t ordinal) {
  if (is_known() || ordinal != end()) {
    return;
  }
  StopRecording();
  names_.Append(entry.name);
}

void PassMemory::NoteUnshown(std::string_view name, uint64_t ordinal) {
  if (!is_known() && ordinal == end()) {
    StopRecording();
    names_.Append(name);
  }
}

void PassMemory::ForgetFrom(uint64_t passed) {
  if (listing_ == nullptr && passed < names_.first()) {
    names_.Forget(passed);
  }
}

void PassMemory::StopRecording() {
  if (listing_ != nullptr) {
    NamesSink sink(names_);
    listing_->Show(0, sink);
    listing_ = nullptr;
  }
}

}  // namespace varve
