// InlineDecoder: reads fields one behind the other, as Decoder does (engine/base/coding.h), in line: for what
// a walk does at each entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/coding.h"

namespace varve {

// `bytes` must outlive it and what it answers.
class InlineDecoder {
 public:
  explicit InlineDecoder(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  // False once a field was missing or too large; what the calls answer then means nothing.
  bool ok() const { return ok_; }
  std::string_view rest() const { return {at_, static_cast<size_t>(end_ - at_)}; }
  uint64_t Varint() {
    uint64_t n = 0;
    for (uint32_t shift = 0; at_ < end_ && shift < 64; shift += 7) {
      const uint64_t byte = static_cast<uint8_t>(*at_++);
      // The tenth byte has one bit of 64.
      ok_ = ok_ && (shift < 63 || byte <= 1);
      n |= (byte & 0x7f) << shift;
      if (byte < 0x80) [[likely]] {
        return n;
      }
    }
    ok_ = false;
    return 0;
  }
  std::string_view LengthPrefixed() {
    const uint64_t length = Varint();
    if (!Has(length)) {
      return {};
    }
    const std::string_view bytes(at_, length);
    at_ += length;
    return bytes;
  }
  template <typename Integer>
  Integer Fixed() {
    if (!Has(sizeof(Integer))) {
      return 0;
    }
    const auto n = LoadFixed<Integer>(at_);
    at_ += sizeof(Integer);
    return n;
  }

 private:
  bool Has(uint64_t bytes) {
    ok_ = ok_ && bytes <= static_cast<uint64_t>(end_ - at_);
    return ok_;
  }

  const char* at_;
  const char* const end_;
  bool ok_ = true;
};

}  // namespace varve
