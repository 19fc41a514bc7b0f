// How names, inodes and bytes lie in the store: the keys and values of every record the filesystem writes.
// Byte tables: docs/on-disk/namespace.md. Values come from a device: every decoder checks all it reads and
// answers with kCorruption, or kUnsupported for a version or field that a later varve has written.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/outline_options.h"
#include "engine/base/result.h"
#include "fs/namespace/inode.h"

namespace varve {

// First byte of every key. Stored: values never change.
enum class NamespaceKind : uint8_t {
  kDirent = 1,
  kInode = 2,
  kChunk = 3,
  kOrphan = 4,
  kXattr = 5,
  kCounter = 6,
  kAccess = 7,
};

// A key without heap memory: kind, inode number (big-endian) and up to 255 bytes of name.
class NamespaceKey {
 public:
  static constexpr size_t kInodePrefixBytes = 1 + 8;
  static constexpr size_t kBytesMax = kInodePrefixBytes + 255;

  static NamespaceKey Dirent(InodeNumber parent, std::string_view name) {
    return {NamespaceKind::kDirent, parent, name};
  }
  static NamespaceKey OfInode(InodeNumber inode) { return {NamespaceKind::kInode, inode, {}}; }
  static NamespaceKey Chunk(InodeNumber inode, uint64_t index);
  static NamespaceKey Orphan(InodeNumber inode) { return {NamespaceKind::kOrphan, inode, {}}; }
  static NamespaceKey Access(InodeNumber inode) { return {NamespaceKind::kAccess, inode, {}}; }
  static NamespaceKey Xattr(InodeNumber inode, std::string_view name) {
    return {NamespaceKind::kXattr, inode, name};
  }
  // Sorts before every key of `kind` and `inode`, and after every key of a smaller inode: the bounds of a
  // range scan.
  static NamespaceKey Prefix(NamespaceKind kind, InodeNumber inode) { return {kind, inode, {}}; }
  // The end of all keys of `kind` and `inode`.
  static NamespaceKey End(NamespaceKind kind, InodeNumber inode);
  // The first key of `kind`; that of the next kind ends it.
  static NamespaceKey KindStart(uint8_t kind);

  std::string_view view() const { return {bytes_, size_}; }
  operator std::string_view() const { return view(); }  // NOLINT: a key is used as its bytes

 private:
  NamespaceKey() = default;
  // Precondition: name.size() <= 255.
  NamespaceKey(NamespaceKind kind, InodeNumber inode, std::string_view name);

  char bytes_[kBytesMax];
  uint32_t size_ = 0;
};

// A key taken apart; nullopt when it is not of a known shape. `name` points into the key.
struct ParsedKey {
  NamespaceKind kind = NamespaceKind::kDirent;
  InodeNumber inode;      // the parent, for a dirent; 0 for a counter
  std::string_view name;  // dirent, xattr, counter
  uint64_t chunk_index = 0;
};
std::optional<ParsedKey> ParseNamespaceKey(std::string_view key);

inline constexpr std::string_view kFormatKey =
    "\x06"
    "format";
// Inode numbers below its value are given out or lost; those from it on are free.
inline constexpr std::string_view kInodeCounterKey =
    "\x06"
    "inodes";

// An inode and its inline content, or the target of a symbolic link; `content` points into the decoded bytes.
struct InodeRecord {
  Inode inode;
  std::string_view content;
};
void AppendInode(std::string& to, const Inode& inode, std::string_view content);
Result<InodeRecord> DecodeInode(std::string_view value);

// The value of a dirent: a reference to an inode record, or the whole inode.
struct DirentRecord {
  InodeNumber inode;
  uint32_t type = 0;  // S_IFMT bits
  std::optional<InodeRecord> embedded;
};
void AppendReferenceDirent(std::string& to, InodeNumber inode, uint32_t type);
void AppendEmbeddedDirent(std::string& to, const Inode& inode, std::string_view content);
Result<DirentRecord> DecodeDirent(std::string_view value);
// Only what a directory listing needs.
struct DirentSummary {
  InodeNumber inode;
  uint32_t type = 0;
};
Result<DirentSummary> DecodeDirentSummary(std::string_view value);
// It lies within the first bytes of a dirent's value, as many as this; what follows may be left out.
inline constexpr uint32_t kDirentSummaryBytesMax = 18;
// What tables hold so that listings need not read over the content of files.
OutlineOptions OutlinesOfDirents();

// The value of an orphan: a file without a name, whole; or the chunks that a truncation left to be deleted.
struct OrphanRecord {
  std::optional<InodeRecord> file;
  // Without `file`: chunks from `stale_from` up to, not including, `stale_end` are dead.
  uint64_t stale_from = 0;
  uint64_t stale_end = 0;
};
void AppendOrphanFile(std::string& to, const Inode& inode, std::string_view content);
void AppendOrphanTruncation(std::string& to, uint64_t stale_from, uint64_t stale_end);
Result<OrphanRecord> DecodeOrphan(std::string_view value);

// When a file was last accessed, where that is later than its own record says. Only of files that are
// embedded in a dirent, the one that `parent` and `name` say; `name` points into the decoded bytes.
struct AccessRecord {
  int64_t atime_nanos = 0;
  InodeNumber parent;
  std::string_view name;
};
void AppendAccess(std::string& to, const AccessRecord& access);
Result<AccessRecord> DecodeAccess(std::string_view value);

void AppendFormat(std::string& to, const FormatParameters& format);
Result<FormatParameters> DecodeFormat(std::string_view value);
// What mkfs may choose.
Status ValidateFormat(const FormatParameters& format);

void AppendInodeCounter(std::string& to, InodeNumber next);
Result<InodeNumber> DecodeInodeCounter(std::string_view value);

// A file's name: 1 to 255 bytes, no '/', no NUL, not "." or "..".
bool IsName(std::string_view name);
// The same, with the error that a caller gets: kNameTooLong, kInvalidArgument.
Status CheckName(std::string_view name);

}  // namespace varve
