#include "tools/streams.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

namespace varve {

Result<size_t> DescriptorSource::Read(std::span<char> into) {
  while (true) {
    const ssize_t count = read(descriptor_, into.data(), into.size());
    if (count >= 0) {
      return static_cast<size_t>(count);
    }
    if (errno != EINTR) {
      return InvalidArgument(fmt::format("cannot read {}: {}", name_, std::strerror(errno)));
    }
  }
}

Result<size_t> StringSource::Read(std::span<char> into) {
  const size_t count = std::min(into.size(), rest_.size());
  std::copy_n(rest_.data(), count, into.data());
  rest_.remove_prefix(count);
  return count;
}

Status StandardOutputSink::Write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) {
    return InvalidArgument(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  }
  return OkStatus();
}

Status StandardOutputSink::Flush() {
  if (std::fflush(stdout) != 0) {
    return InvalidArgument(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  }
  return OkStatus();
}

void AppendEscaped(std::string& to, std::string_view bytes) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      to += "\\\\";
    } else if (c == '\n') {
      to += "\\n";
    } else if (c == '\t') {
      to += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(to), "\\x{:02x}", byte);
    } else {
      to += c;
    }
  }
}

}  // namespace varve
