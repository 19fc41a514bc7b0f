// Files and strings as the sources and sinks of values.
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "fs/ops/path.h"

namespace varve {

// Reads a file descriptor, which stays the caller's.
class DescriptorSource final : public ByteSource {
 public:
  // `name` is what messages call it.
  DescriptorSource(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}
  Result<size_t> Read(std::span<char> into) override;

 private:
  int descriptor_;
  std::string name_;
};

// `bytes` must outlive this.
class StringSource final : public ByteSource {
 public:
  explicit StringSource(std::string_view bytes) : rest_(bytes) {}
  Result<size_t> Read(std::span<char> into) override;

 private:
  std::string_view rest_;
};

// Writes through stdio, so that small pieces are cheap. Flush() tells whether everything arrived.
class StandardOutputSink final : public ByteSink {
 public:
  Status Write(std::string_view bytes) override;
  Status Flush();
};

class StringSink final : public ByteSink {
 public:
  Status Write(std::string_view bytes) override {
    bytes_.append(bytes);
    return OkStatus();
  }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

// One line that any terminal shows: control characters and backslashes become \n, \t, \\ or \xHH.
void AppendEscaped(std::string& to, std::string_view bytes);

}  // namespace varve
