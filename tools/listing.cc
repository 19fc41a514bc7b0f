#include "tools/listing.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <ctime>

#include "tools/streams.h"

namespace varve {

namespace {

char TypeLetter(uint32_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return 'd';
    case S_IFLNK:
      return 'l';
    case S_IFIFO:
      return 'p';
    case S_IFSOCK:
      return 's';
    case S_IFCHR:
      return 'c';
    case S_IFBLK:
      return 'b';
    default:
      return '-';
  }
}

// The third letter of a triple tells execution and one special bit in one.
char ExecuteLetter(bool executable, bool special, char letter) {
  if (special) {
    return executable ? letter : static_cast<char>(letter - 'a' + 'A');
  }
  return executable ? 'x' : '-';
}

}  // namespace

std::string FormatMode(uint32_t mode) {
  std::string text;
  text += TypeLetter(mode);
  text += (mode & S_IRUSR) != 0 ? 'r' : '-';
  text += (mode & S_IWUSR) != 0 ? 'w' : '-';
  text += ExecuteLetter((mode & S_IXUSR) != 0, (mode & S_ISUID) != 0, 's');
  text += (mode & S_IRGRP) != 0 ? 'r' : '-';
  text += (mode & S_IWGRP) != 0 ? 'w' : '-';
  text += ExecuteLetter((mode & S_IXGRP) != 0, (mode & S_ISGID) != 0, 's');
  text += (mode & S_IROTH) != 0 ? 'r' : '-';
  text += (mode & S_IWOTH) != 0 ? 'w' : '-';
  text += ExecuteLetter((mode & S_IXOTH) != 0, (mode & S_ISVTX) != 0, 't');
  return text;
}

std::string FormatListingLine(const Attributes& attributes, std::string_view name) {
  const bool is_device = S_ISCHR(attributes.mode) || S_ISBLK(attributes.mode);
  const std::string size = is_device ? fmt::format("{}, {}", major(attributes.rdev), minor(attributes.rdev))
                                     : fmt::format("{}", attributes.size);
  const std::time_t modified = attributes.mtime_nanos / 1'000'000'000;
  std::string line =
      fmt::format("{} {:>3} {:>5} {:>5} {:>10} {:%Y-%m-%d %H:%M} ", FormatMode(attributes.mode),
                  attributes.nlink, attributes.uid, attributes.gid, size, fmt::localtime(modified));
  AppendEscaped(line, name);
  return line;
}

}  // namespace varve
