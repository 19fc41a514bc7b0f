// POSIX access control lists (acl(5)), as the kernel hands them over and as they are stored: the values of
// two extended attributes, version 2 of Linux's format (a little-endian u32, then for each entry a tag and
// permissions of 16 bits and an id of 32). The kernel checks permissions by them; what is ours is to hand a
// directory's default list on to what is made in it, and to keep the mode and the list in step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"

namespace varve {

inline constexpr std::string_view kAccessAclName = "system.posix_acl_access";
inline constexpr std::string_view kDefaultAclName = "system.posix_acl_default";
// The kernel asks for a list with a page of room, and takes what is longer for an error.
inline constexpr size_t kAclBytesMax = 4096;

class PosixAcl {
 public:
  // kInvalidArgument unless the entries are those that acl(5) demands, in its order.
  static Result<PosixAcl> Decode(std::string_view value);
  std::string Encode() const;

  // Says nothing that a mode cannot say.
  bool IsJustMode() const { return entries_.size() == kEntriesOfMode; }
  // The nine bits that stat shows for it: where there is a mask, that is the group's.
  uint32_t ModeBits() const;
  // chmod(2): owner, others and mask (without one, the group) become those of `mode`.
  void SetMode(uint32_t mode);
  // A copy of the directory's default list becomes the access list of something made with `mode`: neither
  // allows what the other does not. Returns `mode`, restricted.
  uint32_t RestrictTo(uint32_t mode);

 private:
  enum class Tag : uint16_t {
    kOwner = 0x01,
    kUser = 0x02,
    kGroup = 0x04,
    kNamedGroup = 0x08,
    kMask = 0x10,
    kOther = 0x20,
  };
  struct Entry {
    Tag tag = Tag::kOwner;
    uint16_t permissions = 0;
    uint32_t id = 0;
  };
  static constexpr size_t kEntriesOfMode = 3;
  static constexpr size_t kHeaderBytes = 4;
  static constexpr size_t kEntryBytes = 8;

  Status Validate() const;
  uint16_t* Find(Tag tag);
  // Whose permissions the group bits of a mode show.
  uint16_t& GroupClass();

  std::vector<Entry> entries_;
};

}  // namespace varve
