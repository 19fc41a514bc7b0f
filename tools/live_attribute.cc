#include "tools/live_attribute.h"

#include <fmt/core.h>
#include <sys/xattr.h>

#include <cerrno>
#include <cstring>

#include "engine/base/units.h"

namespace varve {

namespace {

// The kernel's limit for the value of an attribute (xattr(7)).
constexpr size_t kAttributeBytesMax = 64 * kKiB;

}  // namespace

Result<std::string> ReadLiveAttribute(const std::string& directory, std::string_view attribute,
                                      std::string_view advice) {
  std::string text(kAttributeBytesMax, '\0');
  const ssize_t bytes = getxattr(directory.c_str(), std::string(attribute).c_str(), text.data(), text.size());
  if (bytes >= 0) {
    text.resize(static_cast<size_t>(bytes));
    return text;
  }
  switch (errno) {
    case ENODATA:
    case EOPNOTSUPP:
    case ENOTDIR:
      return InvalidArgument(fmt::format("not the root of a mounted varve store{}", advice));
    case EACCES:
    case EPERM:
      return InvalidArgument("only root and the user who mounted it may ask");
    default:
      return DeviceError(std::strerror(errno));
  }
}

}  // namespace varve
