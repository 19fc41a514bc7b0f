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
    // The usual case: up to three bytes.
    if (end_ - at_ >= 3) [[likely]] {
      const auto byte = [this](size_t i) { return uint64_t{static_cast<uint8_t>(at_[i])}; };
      uint64_t n = byte(0);
      size_t used = 1;
      if (n >= 0x80) {
        n = (n & 0x7f) | byte(1) << 7;
        used = 2;
      }
      if (n >= 0x80 << 7) {
        n = (n & 0x3fff) | byte(2) << 14;
        used = 3;
      }
      if (n < 0x80 << 14) [[likely]] {
        at_ += used;
        return n;
      }
    }
    uint64_t n = 0;
    const char* const behind = ReadLongVarint(at_, end_, n);
    ok_ = ok_ && behind != nullptr;
    at_ = behind != nullptr ? behind : end_;
    return n;
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
  // Of any length, and what is none: nullptr. Takes no decoder, so that one can live in registers.
  [[gnu::noinline]] static const char* ReadLongVarint(const char* at, const char* end, uint64_t& n) {
    n = 0;
    for (uint32_t shift = 0; at < end && shift < 64; shift += 7) {
      const uint64_t byte = static_cast<uint8_t>(*at++);
      // The tenth byte has one bit of 64.
      if (shift == 63 && byte > 1) {
        return nullptr;
      }
      n |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        return at;
      }
    }
    return nullptr;
  }
  bool Has(uint64_t bytes) {
    ok_ = ok_ && bytes <= static_cast<uint64_t>(end_ - at_);
    return ok_;
  }

  const char* at_;
  const char* const end_;
  bool ok_ = true;
};

}  // namespace varve
