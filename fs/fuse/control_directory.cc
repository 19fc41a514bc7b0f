#include "fs/fuse/control_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "fs/namespace/inode.h"

namespace varve {

namespace {

constexpr uint64_t kForEverSeconds = uint64_t{365} * 24 * 3600;

template <typename Fixed>
Fixed BodyOf(std::span<const char> request) {
  Fixed body = {};
  const std::span<const char> bytes = request.subspan(sizeof(fuse_in_header));
  std::memcpy(&body, bytes.data(), std::min(bytes.size(), sizeof(body)));
  return body;
}

std::string_view NameIn(std::span<const char> request) {
  const std::string_view bytes(request.data(), request.size());
  const std::string_view body = bytes.substr(sizeof(fuse_in_header));
  return body.substr(0, body.find('\0'));
}

template <typename Fixed>
ControlDirectory::Answer AnswerOf(const Fixed& body) {
  return {0, std::string(reinterpret_cast<const char*>(&body), sizeof(body)), true};
}

ControlDirectory::Answer Refusal(int error) {
  return {error, {}, true};
}

// One entry as READDIR, and before it what READDIRPLUS wants to know: nothing, so that the kernel looks the
// name up.
void AppendEntry(std::string& to, std::string_view name, uint64_t inode, uint64_t next_offset, uint32_t type,
                 bool plus) {
  if (plus) {
    to.append(sizeof(fuse_entry_out), '\0');
  }
  fuse_dirent entry = {};
  entry.ino = inode;
  entry.off = next_offset;
  entry.namelen = static_cast<uint32_t>(name.size());
  entry.type = type >> 12;
  to.append(reinterpret_cast<const char*>(&entry), FUSE_NAME_OFFSET);
  to.append(name);
  to.resize(FUSE_DIRENT_ALIGN(to.size()), '\0');
}

}  // namespace

std::vector<std::pair<std::string, std::string>> MembersOfJson(std::string_view object) {
  std::vector<std::pair<std::string, std::string>> members;
  std::optional<size_t> name_at;
  std::string name;
  size_t value_at = 0;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < object.size(); ++i) {
    const char c = object[i];
    if (quoted) {
      i += c == '\\' ? 1 : 0;
      quoted = c != '"';
      if (!quoted && depth == 1 && name_at) {
        name = object.substr(*name_at, i - *name_at);
        name_at.reset();
      }
    } else if (c == '"') {
      quoted = true;
      if (depth == 1 && value_at == 0) {
        name_at = i + 1;
      }
    } else if (c == ':' && depth == 1 && value_at == 0) {
      value_at = i + 1;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']' || (c == ',' && depth == 1)) {
      if (depth == 1 && value_at != 0) {
        members.emplace_back(name, object.substr(value_at, i - value_at));
        value_at = 0;
      }
      depth -= c == ',' ? 0 : 1;
    }
  }
  return members;
}

bool ControlDirectory::IsName(uint64_t parent, std::string_view name) {
  return parent == kRootInode.value && name == kControlDirectoryName;
}

bool ControlDirectory::Concerns(std::span<const char> request) {
  fuse_in_header header;
  std::memcpy(&header, request.data(), sizeof(header));
  return IsNode(header.nodeid) || (header.opcode == FUSE_LOOKUP && IsName(header.nodeid, NameIn(request)));
}

ControlDirectory::Contents ControlDirectory::Make() const {
  const std::string statistics = owner_.StatisticsJson();
  Contents contents = {{"process", std::to_string(getpid()) + "\n"},
                       {"scrub", owner_.ScrubReport()},
                       {"source", owner_.source() + "\n"},
                       {"statistics.json", statistics + "\n"}};
  for (auto& [name, value] : MembersOfJson(statistics)) {
    contents.emplace_back(name + ".json", value + "\n");
  }
  std::sort(contents.begin(), contents.end());
  return contents;
}

ControlDirectory::Answer ControlDirectory::Handle(std::span<const char> request) {
  fuse_in_header header;
  std::memcpy(&header, request.data(), sizeof(header));
  switch (header.opcode) {
    case FUSE_LOOKUP:
      return Lookup(header.nodeid, NameIn(request));
    case FUSE_FORGET:
      Forget(header.nodeid, BodyOf<fuse_forget_in>(request).nlookup);
      return {0, {}, false};
    case FUSE_GETATTR:
      return Attributes(header.nodeid);
    case FUSE_OPENDIR:
      return AnswerOf(fuse_open_out{});
    case FUSE_READDIR:
    case FUSE_READDIRPLUS:
      return List(BodyOf<fuse_read_in>(request), header.opcode == FUSE_READDIRPLUS);
    case FUSE_READ:
      return Read(header.nodeid, BodyOf<fuse_read_in>(request));
    case FUSE_STATFS:
      return AnswerOf(fuse_statfs_out{});
    case FUSE_RELEASEDIR:
    case FUSE_RELEASE:
    case FUSE_FSYNC:
    case FUSE_FSYNCDIR:
      return {};
    case FUSE_LISTXATTR:
      return BodyOf<fuse_getxattr_in>(request).size == 0 ? AnswerOf(fuse_getxattr_out{}) : Answer();
    case FUSE_GETXATTR:
      return Refusal(ENODATA);
    // As everywhere on the mount: the kernel asks once.
    case FUSE_OPEN:
    case FUSE_FLUSH:
    case FUSE_POLL:
      return Refusal(ENOSYS);
    case FUSE_LSEEK:
      return Refusal(EINVAL);
    case FUSE_IOCTL:
      return Refusal(ENOTTY);
    default:
      return Refusal(EPERM);
  }
}

fuse_attr ControlDirectory::AttributesOf(uint64_t node, uint64_t size) const {
  fuse_attr attributes = {};
  attributes.ino = node;
  attributes.size = size;
  attributes.mode = node == kDirectoryNode ? S_IFDIR | 0500 : S_IFREG | 0400;
  attributes.nlink = node == kDirectoryNode ? 2 : 1;
  attributes.uid = geteuid();
  attributes.gid = getegid();
  attributes.blksize = 4096;
  return attributes;
}

ControlDirectory::Answer ControlDirectory::Lookup(uint64_t parent, std::string_view name) {
  fuse_entry_out entry = {};
  entry.attr_valid = kForEverSeconds;
  if (parent != kDirectoryNode) {
    if (IsNode(parent)) {
      return Refusal(ENOTDIR);
    }
    entry.nodeid = kDirectoryNode;
    entry.entry_valid = kForEverSeconds;
    entry.attr = AttributesOf(kDirectoryNode, 0);
    return AnswerOf(entry);
  }
  Contents contents = Make();
  const auto found =
      std::find_if(contents.begin(), contents.end(), [name](const auto& file) { return file.first == name; });
  if (found == contents.end()) {
    return Refusal(ENOENT);
  }
  const std::lock_guard lock(mutex_);
  // Not kept: the next lookup is to find the file as it is then.
  entry.nodeid = next_node_++;
  entry.attr = AttributesOf(entry.nodeid, found->second.size());
  files_[entry.nodeid].content = std::move(found->second);
  return AnswerOf(entry);
}

void ControlDirectory::Forget(uint64_t node, uint64_t lookups) {
  const std::lock_guard lock(mutex_);
  const auto file = files_.find(node);
  if (file != files_.end() && (file->second.lookups -= std::min(file->second.lookups, lookups)) == 0) {
    files_.erase(file);
  }
}

size_t ControlDirectory::nodes() const {
  const std::lock_guard lock(mutex_);
  return files_.size();
}

ControlDirectory::Answer ControlDirectory::Attributes(uint64_t node) const {
  fuse_attr_out attributes = {};
  attributes.attr_valid = kForEverSeconds;
  uint64_t size = 0;
  if (node != kDirectoryNode) {
    const std::lock_guard lock(mutex_);
    const auto file = files_.find(node);
    if (file == files_.end()) {
      return Refusal(ESTALE);
    }
    size = file->second.content.size();
  }
  attributes.attr = AttributesOf(node, size);
  return AnswerOf(attributes);
}

ControlDirectory::Answer ControlDirectory::Read(uint64_t node, const fuse_read_in& read) const {
  const std::lock_guard lock(mutex_);
  const auto file = files_.find(node);
  if (file == files_.end()) {
    return Refusal(node == kDirectoryNode ? EISDIR : ESTALE);
  }
  const std::string& content = file->second.content;
  return {0, read.offset >= content.size() ? std::string() : content.substr(read.offset, read.size), true};
}

ControlDirectory::Answer ControlDirectory::List(const fuse_read_in& read, bool plus) const {
  std::vector<std::pair<std::string, uint32_t>> entries = {{".", S_IFDIR}, {"..", S_IFDIR}};
  for (auto& file : Make()) {
    entries.emplace_back(std::move(file.first), S_IFREG);
  }
  Answer answer;
  for (size_t i = read.offset; i < entries.size(); ++i) {
    std::string entry;
    // The number that a name has is known when it is looked up.
    AppendEntry(entry, entries[i].first, kDirectoryNode, i + 1, entries[i].second, plus);
    if (answer.body.size() + entry.size() > read.size) {
      break;
    }
    answer.body += entry;
  }
  return answer;
}

}  // namespace varve
