#include "engine/base/coding.h"

namespace varve {

char* StoreVarint(char* to, uint64_t n) {
  while (n >= 0x80) {
    *to++ = static_cast<char>(n | 0x80);
    n >>= 7;
  }
  *to++ = static_cast<char>(n);
  return to;
}

size_t VarintLength(uint64_t n) {
  size_t length = 1;
  while (n >= 0x80) {
    n >>= 7;
    length++;
  }
  return length;
}

void AppendVarint(std::string& to, uint64_t n) {
  char bytes[kVarintBytesMax];
  const char* end = StoreVarint(bytes, n);
  to.append(bytes, static_cast<size_t>(end - bytes));
}

void AppendLengthPrefixed(std::string& to, std::string_view bytes) {
  AppendVarint(to, bytes.size());
  to.append(bytes);
}

void AppendBigEndian64(std::string& to, uint64_t n) {
  AppendFixed(to, __builtin_bswap64(n));
}

uint64_t LoadBigEndian64(const char* from) {
  return __builtin_bswap64(LoadFixed<uint64_t>(from));
}

std::optional<uint64_t> Decoder::Varint() {
  uint64_t n = 0;
  for (size_t i = 0; i < rest_.size() && i < kVarintBytesMax; i++) {
    const uint64_t byte = static_cast<uint8_t>(rest_[i]);
    if (i == kVarintBytesMax - 1 && byte > 1) {
      return std::nullopt;  // more than 64 bits
    }
    n |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      rest_.remove_prefix(i + 1);
      return n;
    }
  }
  return std::nullopt;
}

std::optional<std::string_view> Decoder::Bytes(size_t count) {
  if (rest_.size() < count) {
    return std::nullopt;
  }
  const std::string_view bytes = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return bytes;
}

std::optional<std::string_view> Decoder::LengthPrefixed() {
  const std::string_view before = rest_;
  const std::optional<uint64_t> length = Varint();
  if (!length || *length > rest_.size()) {
    rest_ = before;
    return std::nullopt;
  }
  return Bytes(*length);
}

}  // namespace varve
