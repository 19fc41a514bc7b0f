// Integers as bytes: little-endian fixed width and LEB128 varints for records, big-endian for keys that must
// sort.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace varve {

static_assert(std::endian::native == std::endian::little, "fixed-width fields are stored little-endian");

template <typename Integer>
void StoreFixed(char* to, Integer n) {
  std::memcpy(to, &n, sizeof(n));
}

template <typename Integer>
Integer LoadFixed(const char* from) {
  Integer n;
  std::memcpy(&n, from, sizeof(n));
  return n;
}

template <typename Integer>
void AppendFixed(std::string& to, Integer n) {
  char bytes[sizeof(n)];
  StoreFixed(bytes, n);
  to.append(bytes, sizeof(n));
}

void AppendVarint(std::string& to, uint64_t n);
// A varint length followed by the bytes.
void AppendLengthPrefixed(std::string& to, std::string_view bytes);
void AppendBigEndian64(std::string& to, uint64_t n);
uint64_t LoadBigEndian64(const char* from);

inline constexpr size_t kVarintBytesMax = 10;
size_t VarintLength(uint64_t n);
// Writes at most kVarintBytesMax bytes; returns the byte after the last.
char* StoreVarint(char* to, uint64_t n);

// Reads fields off the front of `input`. Each call returns nullopt, and consumes nothing, when the bytes do
// not hold such a field: the input may come from a device.
class Decoder {
 public:
  explicit Decoder(std::string_view input) : rest_(input) {}

  template <typename Integer>
  std::optional<Integer> Fixed() {
    if (rest_.size() < sizeof(Integer)) {
      return std::nullopt;
    }
    const Integer n = LoadFixed<Integer>(rest_.data());
    rest_.remove_prefix(sizeof(Integer));
    return n;
  }
  std::optional<uint64_t> Varint();
  std::optional<std::string_view> LengthPrefixed();
  std::optional<std::string_view> Bytes(size_t count);

  std::string_view rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace varve
