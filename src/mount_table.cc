#include "src/mount_table.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace varve {

namespace {

bool IsOctalDigit(char c) {
  return c >= '0' && c <= '7';
}

// The kernel writes blanks, newlines and backslashes in paths as three octal digits.
std::string Unescaped(std::string_view field) {
  std::string text;
  for (size_t i = 0; i < field.size(); ++i) {
    if (field[i] == '\\' && i + 3 < field.size() && IsOctalDigit(field[i + 1]) &&
        IsOctalDigit(field[i + 2]) && IsOctalDigit(field[i + 3])) {
      text += static_cast<char>((field[i + 1] - '0') * 64 + (field[i + 2] - '0') * 8 + (field[i + 3] - '0'));
      i += 3;
    } else {
      text += field[i];
    }
  }
  return text;
}

// proc(5): id, parent, device, root, mount point, options, optional fields, "-", type, source, super options.
std::optional<MountedEntry> ParseLine(const std::string& line) {
  std::istringstream words(line);
  const std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
  size_t dash = 6;
  while (dash < fields.size() && fields[dash] != "-") {
    ++dash;
  }
  if (dash + 2 >= fields.size()) {
    return std::nullopt;
  }
  const std::string& type = fields[dash + 1];
  if (type != "fuse.varve" && type != "fuseblk.varve") {
    return std::nullopt;
  }
  return MountedEntry{Unescaped(fields[dash + 2]), Unescaped(fields[4])};
}

}  // namespace

std::optional<MountedEntry> FindVarveMount(std::string_view mountinfo, std::string_view what) {
  std::istringstream lines{std::string(mountinfo)};
  std::optional<MountedEntry> found;
  for (std::string line; std::getline(lines, line);) {
    std::optional<MountedEntry> entry = ParseLine(line);
    if (entry.has_value() && (entry->directory == what || entry->source == what)) {
      found = std::move(entry);
    }
  }
  return found;
}

std::optional<MountedEntry> FindVarveMount(const std::string& what) {
  std::ifstream file("/proc/self/mountinfo");
  const std::string mountinfo{std::istreambuf_iterator<char>(file), {}};
  std::error_code error;
  std::filesystem::path path = std::filesystem::absolute(what, error).lexically_normal();
  if (!path.has_filename()) {
    path = path.parent_path();
  }
  // As it was said first: resolving would ask the mount's daemon, which may be dead.
  if (std::optional<MountedEntry> found = FindVarveMount(mountinfo, path.string())) {
    return found;
  }
  const std::filesystem::path parent = std::filesystem::canonical(path.parent_path(), error);
  if (!error) {
    if (std::optional<MountedEntry> found = FindVarveMount(mountinfo, (parent / path.filename()).string())) {
      return found;
    }
  }
  const std::filesystem::path resolved = std::filesystem::canonical(path, error);
  return error ? std::nullopt : FindVarveMount(mountinfo, resolved.string());
}

}  // namespace varve
