#include "fs/namespace/namespace_format.h"

#include <algorithm>
#include <bit>

#include "engine/base/coding.h"
#include "engine/base/inline_decoder.h"
#include "engine/base/units.h"

namespace varve {

namespace {

constexpr uint8_t kInodeVersion = 1;
constexpr uint8_t kFormatVersion = 1;
constexpr uint8_t kAccessVersion = 1;
constexpr size_t kSymlinkTargetBytesMax = 4095;

// Which optional fields an inode has. A field that is absent has the value it has most often.
constexpr uint64_t kNlinkField = 1 << 0;  // not 1
constexpr uint64_t kAtimeField = 1 << 1;  // the next three: not mtime
constexpr uint64_t kCtimeField = 1 << 2;
constexpr uint64_t kBtimeField = 1 << 3;
constexpr uint64_t kRdevField = 1 << 4;       // not 0
constexpr uint64_t kChunkedField = 1 << 5;    // bytes lie in chunks
constexpr uint64_t kXattrField = 1 << 6;      // there are extended attributes; no bytes here
constexpr uint64_t kDirectoryField = 1 << 7;  // parent and counts
constexpr uint64_t kKnownFields = 0xff;

enum DirentForm : uint8_t { kReferenceForm = 1, kEmbeddedForm = 2 };
enum OrphanForm : uint8_t { kFileForm = 1, kTruncationForm = 2 };

uint64_t ZigZag(int64_t n) {
  return static_cast<uint64_t>(n) << 1 ^ static_cast<uint64_t>(n >> 63);
}
int64_t UnZigZag(uint64_t n) {
  return static_cast<int64_t>(n >> 1 ^ (~(n & 1) + 1));
}

// Differences wrap around, so that any two times have one.
uint64_t TimeDelta(int64_t time, int64_t base) {
  return ZigZag(static_cast<int64_t>(static_cast<uint64_t>(time) - static_cast<uint64_t>(base)));
}
int64_t TimeFromDelta(uint64_t delta, int64_t base) {
  return static_cast<int64_t>(static_cast<uint64_t>(base) + static_cast<uint64_t>(UnZigZag(delta)));
}

bool KnownType(uint32_t type) {
  return type == S_IFREG || type == S_IFDIR || type == S_IFLNK || type == S_IFCHR || type == S_IFBLK ||
         type == S_IFIFO || type == S_IFSOCK;
}

// Of eight bytes, whether one is zero.
constexpr bool HasNul(uint64_t bytes) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  return ((bytes - kOnes) & ~bytes & kOnes << 7) != 0;
}
constexpr bool HasSlashOrNul(uint64_t bytes) {
  constexpr uint64_t kSlashes = 0x2f2f2f2f2f2f2f2f;
  return HasNul(bytes) || HasNul(bytes ^ kSlashes);
}

// Reads the fields of a record and remembers whether one was missing or too large.
class FieldReader {
 public:
  explicit FieldReader(std::string_view value) : decoder_(value) {}

  uint64_t Number() { return decoder_.Varint(); }
  uint32_t Number32() {
    const uint64_t n = Number();
    ok_ = ok_ && n <= UINT32_MAX;
    return static_cast<uint32_t>(n);
  }
  template <typename Integer>
  Integer Fixed() {
    return decoder_.Fixed<Integer>();
  }
  int64_t Time(bool present, int64_t base) { return present ? TimeFromDelta(Number(), base) : base; }

  std::string_view rest() const { return decoder_.rest(); }
  bool ok() const { return ok_ && decoder_.ok(); }

 private:
  InlineDecoder decoder_;
  bool ok_ = true;
};

// The rules that tie the fields of a decoded inode together.
bool Consistent(const Inode& inode, bool directory_field, std::string_view content) {
  if (inode.number.value == 0 || !KnownType(inode.mode & S_IFMT) || inode.mode > 0177777 ||
      inode.size > (uint64_t{1} << 62) || inode.is_directory() != directory_field) {
    return false;
  }
  if (inode.is_regular()) {
    return inode.chunked ? content.empty() : content.size() == inode.size;
  }
  if (inode.is_symlink()) {
    return !inode.chunked && !content.empty() && content.size() == inode.size &&
           content.size() <= kSymlinkTargetBytesMax;
  }
  return !inode.chunked && inode.size == 0 && content.empty();
}

}  // namespace

void AppendInode(std::string& to, const Inode& inode, std::string_view content) {
  uint64_t fields = 0;
  fields |= inode.nlink != 1 ? kNlinkField : 0;
  fields |= inode.atime_nanos != inode.mtime_nanos ? kAtimeField : 0;
  fields |= inode.ctime_nanos != inode.mtime_nanos ? kCtimeField : 0;
  fields |= inode.btime_nanos != inode.mtime_nanos ? kBtimeField : 0;
  fields |= inode.rdev != 0 ? kRdevField : 0;
  fields |= inode.chunked ? kChunkedField : 0;
  fields |= inode.has_xattrs ? kXattrField : 0;
  fields |= inode.is_directory() ? kDirectoryField : 0;

  // Version and mtime, and at most fifteen varints.
  char header[1 + 8 + 15 * kVarintBytesMax];
  char* end = header;
  *end++ = static_cast<char>(kInodeVersion);
  const auto put = [&end](bool present, uint64_t n) {
    if (present) {
      end = StoreVarint(end, n);
    }
  };
  put(true, fields);
  put(true, inode.number.value);
  put(true, inode.mode);
  put(true, inode.uid);
  put(true, inode.gid);
  put(true, inode.size);
  StoreFixed(end, inode.mtime_nanos);
  end += sizeof(inode.mtime_nanos);
  put(fields & kNlinkField, inode.nlink);
  put(fields & kAtimeField, TimeDelta(inode.atime_nanos, inode.mtime_nanos));
  put(fields & kCtimeField, TimeDelta(inode.ctime_nanos, inode.mtime_nanos));
  put(fields & kBtimeField, TimeDelta(inode.btime_nanos, inode.mtime_nanos));
  put(fields & kRdevField, inode.rdev);
  put(fields & kChunkedField, inode.chunk_count);
  put(fields & kDirectoryField, inode.parent.value);
  put(fields & kDirectoryField, inode.entry_count);
  put(fields & kDirectoryField, inode.subdirectory_count);
  to.reserve(to.size() + static_cast<size_t>(end - header) + content.size());
  to.append(header, static_cast<size_t>(end - header));
  to.append(content);
}

Result<InodeRecord> DecodeInode(std::string_view value) {
  FieldReader reader(value);
  const uint8_t version = reader.Fixed<uint8_t>();
  if (version != kInodeVersion) {
    return version > kInodeVersion ? Unsupported("an inode record of a later version")
                                   : Corruption("an inode record without a version");
  }
  const uint64_t fields = reader.Number();
  if (reader.ok() && (fields & ~kKnownFields) != 0) {
    return Unsupported("an inode record with a field of a later version");
  }
  InodeRecord record;
  Inode& inode = record.inode;
  inode.number = InodeNumber(reader.Number());
  inode.mode = reader.Number32();
  inode.uid = reader.Number32();
  inode.gid = reader.Number32();
  inode.size = reader.Number();
  inode.mtime_nanos = reader.Fixed<int64_t>();
  inode.nlink = fields & kNlinkField ? reader.Number32() : 1;
  inode.atime_nanos = reader.Time((fields & kAtimeField) != 0, inode.mtime_nanos);
  inode.ctime_nanos = reader.Time((fields & kCtimeField) != 0, inode.mtime_nanos);
  inode.btime_nanos = reader.Time((fields & kBtimeField) != 0, inode.mtime_nanos);
  inode.rdev = fields & kRdevField ? reader.Number32() : 0;
  inode.chunked = (fields & kChunkedField) != 0;
  inode.chunk_count = inode.chunked ? reader.Number() : 0;
  inode.has_xattrs = (fields & kXattrField) != 0;
  if (fields & kDirectoryField) {
    inode.parent = InodeNumber(reader.Number());
    inode.entry_count = reader.Number();
    inode.subdirectory_count = reader.Number32();
  }
  record.content = reader.rest();
  if (!reader.ok() || !Consistent(inode, (fields & kDirectoryField) != 0, record.content)) {
    return Corruption("an inode record does not decode");
  }
  return record;
}

void AppendReferenceDirent(std::string& to, InodeNumber inode, uint32_t type) {
  to.push_back(static_cast<char>(kReferenceForm));
  to.push_back(static_cast<char>((type & S_IFMT) >> 12));
  AppendVarint(to, inode.value);
}

void AppendEmbeddedDirent(std::string& to, const Inode& inode, std::string_view content) {
  to.push_back(static_cast<char>(kEmbeddedForm));
  AppendInode(to, inode, content);
}

Result<DirentRecord> DecodeDirent(std::string_view value) {
  if (!value.empty() && value[0] == kEmbeddedForm) {
    Result<InodeRecord> inode = DecodeInode(value.substr(1));
    if (!inode.ok()) {
      return inode.error();
    }
    if (inode->inode.is_directory() || inode->inode.number == kRootInode) {
      return Corruption("a dirent embeds a directory, or the root");
    }
    return DirentRecord{inode->inode.number, inode->inode.mode & S_IFMT, *inode};
  }
  const Result<DirentSummary> reference = DecodeDirentSummary(value);
  if (!reference.ok()) {
    return reference.error();
  }
  return DirentRecord{reference->inode, reference->type, std::nullopt};
}

OutlineOptions OutlinesOfDirents() {
  return {std::string(1, static_cast<char>(NamespaceKind::kDirent)), kDirentSummaryBytesMax};
}

Result<DirentSummary> DecodeDirentSummary(std::string_view value) {
  FieldReader reader(value);
  const uint8_t form = reader.Fixed<uint8_t>();
  DirentSummary summary;
  if (form == kEmbeddedForm) {
    const uint8_t version = reader.Fixed<uint8_t>();
    if (reader.ok() && version != kInodeVersion) {
      return Unsupported("a dirent of a later version");
    }
    reader.Number();  // which fields there are
    summary.inode = InodeNumber(reader.Number());
    summary.type = reader.Number32() & S_IFMT;
  } else if (form == kReferenceForm) {
    summary.type = static_cast<uint32_t>(reader.Fixed<uint8_t>()) << 12;
    summary.inode = InodeNumber(reader.Number());
    if (!reader.rest().empty()) {
      return Corruption("a dirent does not decode");
    }
  } else {
    return Corruption("a dirent of no known form");
  }
  // The root has no name.
  if (!reader.ok() || summary.inode <= kRootInode || !KnownType(summary.type)) {
    return Corruption("a dirent does not decode");
  }
  return summary;
}

void AppendOrphanFile(std::string& to, const Inode& inode, std::string_view content) {
  to.push_back(static_cast<char>(kFileForm));
  AppendInode(to, inode, content);
}

void AppendOrphanTruncation(std::string& to, uint64_t stale_from, uint64_t stale_end) {
  to.push_back(static_cast<char>(kTruncationForm));
  AppendVarint(to, stale_from);
  AppendVarint(to, stale_end);
}

Result<OrphanRecord> DecodeOrphan(std::string_view value) {
  FieldReader reader(value);
  const uint8_t form = reader.Fixed<uint8_t>();
  OrphanRecord orphan;
  if (form == kFileForm) {
    Result<InodeRecord> inode = DecodeInode(value.substr(1));
    if (!inode.ok()) {
      return inode.error();
    }
    orphan.file = *inode;
    return orphan;
  }
  orphan.stale_from = reader.Number();
  orphan.stale_end = reader.Number();
  if (form != kTruncationForm || !reader.ok() || !reader.rest().empty() ||
      orphan.stale_from > orphan.stale_end) {
    return Corruption("an orphan record does not decode");
  }
  return orphan;
}

void AppendAccess(std::string& to, const AccessRecord& access) {
  to.push_back(static_cast<char>(kAccessVersion));
  AppendFixed<int64_t>(to, access.atime_nanos);
  AppendVarint(to, access.parent.value);
  to.append(access.name);
}

Result<AccessRecord> DecodeAccess(std::string_view value) {
  FieldReader reader(value);
  const uint8_t version = reader.Fixed<uint8_t>();
  if (version > kAccessVersion) {
    return Unsupported("a time of an access of a later version");
  }
  AccessRecord access;
  access.atime_nanos = reader.Fixed<int64_t>();
  access.parent = InodeNumber(reader.Number());
  access.name = reader.rest();
  if (version == 0 || !reader.ok() || access.parent.value == 0 || !IsName(access.name)) {
    return Corruption("a time of an access does not decode");
  }
  return access;
}

void AppendFormat(std::string& to, const FormatParameters& format) {
  to.push_back(static_cast<char>(kFormatVersion));
  AppendFixed<uint32_t>(to, format.inline_bytes_max);
  AppendFixed<uint32_t>(to, format.chunk_bytes);
}

Result<FormatParameters> DecodeFormat(std::string_view value) {
  FieldReader reader(value);
  const uint8_t version = reader.Fixed<uint8_t>();
  if (version > kFormatVersion) {
    return Unsupported("the namespace was made by a later version");
  }
  FormatParameters format;
  format.inline_bytes_max = reader.Fixed<uint32_t>();
  format.chunk_bytes = reader.Fixed<uint32_t>();
  if (version == 0 || !reader.ok() || !reader.rest().empty() || !ValidateFormat(format).ok()) {
    return Corruption("the namespace's format record does not decode");
  }
  return format;
}

Status ValidateFormat(const FormatParameters& format) {
  // A batch holds a write of 1 MiB, the two chunks at its edges and the inode with its inline content.
  if (!std::has_single_bit(format.chunk_bytes) || format.chunk_bytes < 4 * kKiB ||
      format.chunk_bytes > 256 * kKiB) {
    return InvalidArgument("chunks must be a power of two from 4 KiB to 256 KiB");
  }
  if (format.inline_bytes_max > 64 * kKiB) {
    return InvalidArgument("inline content must not exceed 64 KiB");
  }
  return {};
}

void AppendInodeCounter(std::string& to, InodeNumber next) {
  AppendFixed<uint64_t>(to, next.value);
}

Result<InodeNumber> DecodeInodeCounter(std::string_view value) {
  FieldReader reader(value);
  const InodeNumber next(reader.Fixed<uint64_t>());
  if (!reader.ok() || !reader.rest().empty() || next <= kRootInode || next.value > UINT64_MAX / 2) {
    return Corruption("the counter of inode numbers does not decode");
  }
  return next;
}

bool IsName(std::string_view name) {
  if (name.empty() || name.size() > 255) {
    return false;
  }
  if (name.front() == '.' && (name.size() == 1 || (name.size() == 2 && name.back() == '.'))) {
    return false;
  }
  constexpr size_t kAtOnce = sizeof(uint64_t);
  if (name.size() < kAtOnce) {
    return std::none_of(name.begin(), name.end(), [](char c) { return c == '/' || c == '\0'; });
  }
  for (size_t at = 0; at + kAtOnce < name.size(); at += kAtOnce) {
    if (HasSlashOrNul(LoadFixed<uint64_t>(name.data() + at))) {
      return false;
    }
  }
  return !HasSlashOrNul(LoadFixed<uint64_t>(name.data() + name.size() - kAtOnce));
}

Status CheckName(std::string_view name) {
  if (name.size() > 255) {
    return Error(ErrorCode::kNameTooLong, "a name is at most 255 bytes");
  }
  return IsName(name) ? OkStatus() : Status(InvalidArgument("not a name"));
}

}  // namespace varve
