#include "engine/base/check.h"
#include "engine/base/coding.h"
#include "fs/namespace/namespace_format.h"

namespace varve {

namespace {

void StoreBigEndian64(char* to, uint64_t n) {
  for (int i = 7; i >= 0; --i) {
    to[i] = static_cast<char>(n & 0xff);
    n >>= 8;
  }
}

}  // namespace

NamespaceKey::NamespaceKey(NamespaceKind kind, InodeNumber inode, std::string_view name) {
  Check(name.size() <= 255, "a name longer than a key can hold");
  bytes_[0] = static_cast<char>(kind);
  StoreBigEndian64(bytes_ + 1, inode.value);
  if (!name.empty()) {
    std::memcpy(bytes_ + kInodePrefixBytes, name.data(), name.size());
  }
  size_ = static_cast<uint32_t>(kInodePrefixBytes + name.size());
}

NamespaceKey NamespaceKey::Chunk(InodeNumber inode, uint64_t index) {
  char suffix[8];
  StoreBigEndian64(suffix, index);
  return {NamespaceKind::kChunk, inode, std::string_view(suffix, sizeof(suffix))};
}

NamespaceKey NamespaceKey::End(NamespaceKind kind, InodeNumber inode) {
  if (inode.value == UINT64_MAX) {
    return KindStart(static_cast<uint8_t>(static_cast<uint8_t>(kind) + 1));
  }
  return {kind, inode.Next(), {}};
}

NamespaceKey NamespaceKey::KindStart(uint8_t kind) {
  NamespaceKey key;
  key.bytes_[0] = static_cast<char>(kind);
  key.size_ = 1;
  return key;
}

std::optional<ParsedKey> ParseNamespaceKey(std::string_view key) {
  if (key.empty()) {
    return std::nullopt;
  }
  ParsedKey parsed;
  parsed.kind = static_cast<NamespaceKind>(key[0]);
  if (parsed.kind == NamespaceKind::kCounter) {
    parsed.name = key.substr(1);
    return parsed;
  }
  if (key.size() < NamespaceKey::kInodePrefixBytes) {
    return std::nullopt;
  }
  parsed.inode = InodeNumber(LoadBigEndian64(key.data() + 1));
  const std::string_view rest = key.substr(NamespaceKey::kInodePrefixBytes);
  if (parsed.inode.value == 0) {
    return std::nullopt;
  }
  switch (parsed.kind) {
    case NamespaceKind::kDirent:
    case NamespaceKind::kXattr:
      if (rest.empty() || rest.size() > 255) {
        return std::nullopt;
      }
      parsed.name = rest;
      return parsed;
    case NamespaceKind::kInode:
    case NamespaceKind::kOrphan:
    case NamespaceKind::kAccess:
      return rest.empty() ? std::optional(parsed) : std::nullopt;
    case NamespaceKind::kChunk:
      if (rest.size() != 8) {
        return std::nullopt;
      }
      parsed.chunk_index = LoadBigEndian64(rest.data());
      return parsed;
    case NamespaceKind::kCounter:
      break;
  }
  return std::nullopt;
}

}  // namespace varve
