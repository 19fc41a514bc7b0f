#include "fs/ops/posix_acl.h"

#include <sys/stat.h>

#include <algorithm>

#include "engine/base/coding.h"

namespace varve {

namespace {

constexpr uint32_t kVersion = 2;
constexpr uint16_t kPermissionBits = 7;

}  // namespace

Result<PosixAcl> PosixAcl::Decode(std::string_view value) {
  if (value.size() > kAclBytesMax || value.size() < kHeaderBytes ||
      (value.size() - kHeaderBytes) % kEntryBytes != 0 || LoadFixed<uint32_t>(value.data()) != kVersion) {
    return InvalidArgument("not an access control list");
  }
  PosixAcl acl;
  for (size_t at = kHeaderBytes; at < value.size(); at += kEntryBytes) {
    const char* const bytes = value.data() + at;
    acl.entries_.push_back({static_cast<Tag>(LoadFixed<uint16_t>(bytes)), LoadFixed<uint16_t>(bytes + 2),
                            LoadFixed<uint32_t>(bytes + 4)});
  }
  Status valid = acl.Validate();
  if (!valid.ok()) {
    return valid.error();
  }
  return acl;
}

std::string PosixAcl::Encode() const {
  std::string value;
  AppendFixed(value, kVersion);
  for (const Entry& entry : entries_) {
    AppendFixed(value, static_cast<uint16_t>(entry.tag));
    AppendFixed(value, entry.permissions);
    AppendFixed(value, entry.id);
  }
  return value;
}

Status PosixAcl::Validate() const {
  // Tags rise; owner, group and others come once; a mask at most once, and where anybody is named.
  const auto count = [this](Tag tag) {
    return std::count_if(entries_.begin(), entries_.end(), [tag](const Entry& e) { return e.tag == tag; });
  };
  const bool known = std::all_of(entries_.begin(), entries_.end(), [](const Entry& entry) {
    const auto tag = static_cast<uint16_t>(entry.tag);
    return tag != 0 && tag <= static_cast<uint16_t>(Tag::kOther) && (tag & (tag - 1)) == 0 &&
           (entry.permissions & ~kPermissionBits) == 0;
  });
  const bool ordered = std::is_sorted(entries_.begin(), entries_.end(),
                                      [](const Entry& a, const Entry& b) { return a.tag < b.tag; });
  const bool named = count(Tag::kUser) + count(Tag::kNamedGroup) > 0;
  if (!known || !ordered || count(Tag::kOwner) != 1 || count(Tag::kGroup) != 1 || count(Tag::kOther) != 1 ||
      count(Tag::kMask) > 1 || (named && count(Tag::kMask) == 0)) {
    return InvalidArgument("an access control list with wrong entries");
  }
  return OkStatus();
}

uint16_t* PosixAcl::Find(Tag tag) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [tag](const Entry& entry) { return entry.tag == tag; });
  return found == entries_.end() ? nullptr : &found->permissions;
}

uint16_t& PosixAcl::GroupClass() {
  uint16_t* const mask = Find(Tag::kMask);
  return mask != nullptr ? *mask : *Find(Tag::kGroup);
}

uint32_t PosixAcl::ModeBits() const {
  PosixAcl copy = *this;
  return uint32_t{*copy.Find(Tag::kOwner)} << 6 | uint32_t{copy.GroupClass()} << 3 |
         uint32_t{*copy.Find(Tag::kOther)};
}

void PosixAcl::SetMode(uint32_t mode) {
  *Find(Tag::kOwner) = mode >> 6 & kPermissionBits;
  GroupClass() = mode >> 3 & kPermissionBits;
  *Find(Tag::kOther) = mode & kPermissionBits;
}

uint32_t PosixAcl::RestrictTo(uint32_t mode) {
  const uint32_t allowed = mode & ModeBits();
  SetMode(allowed);
  return (mode & ~uint32_t{ACCESSPERMS}) | allowed;
}

}  // namespace varve
