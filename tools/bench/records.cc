#include "tools/bench/records.h"

#include <algorithm>
#include <cstring>

#include "engine/base/check.h"
#include "engine/base/units.h"

namespace varve {

namespace {

// Larger than a block and prime in its steps, so that no two neighbours share bytes that a table could fold.
constexpr size_t kBufferBytes = 4 * kMiB;

}  // namespace

void EncodeBenchKey(uint64_t number, bool missing, size_t bytes, std::string& key) {
  Check(bytes >= kBenchKeyBytesMin, "a key has room for its number");
  key.assign(bytes, '0');
  uint64_t encoded = number * 2 + (missing ? 1 : 0);
  for (size_t i = kBenchKeyBytesMin; i > 0; --i) {
    key[i - 1] = static_cast<char>(encoded & 0xFF);
    encoded >>= 8;
  }
}

ValueSource::ValueSource(size_t bytes_min, size_t bytes_max, uint64_t seed)
    : bytes_min_(bytes_min), bytes_max_(bytes_max), buffer_(std::max(kBufferBytes, bytes_max * 2), '\0') {
  Prng random(seed);
  for (size_t i = 0; i + sizeof(uint64_t) <= buffer_.size(); i += sizeof(uint64_t)) {
    const uint64_t word = random.Next();
    std::memcpy(&buffer_[i], &word, sizeof(word));
  }
}

std::string_view ValueSource::Next(Prng& random) {
  const size_t bytes = bytes_min_ == bytes_max_ ? bytes_min_ : random.Between(bytes_min_, bytes_max_);
  if (at_ + bytes > buffer_.size()) {
    // Begins elsewhere in each pass.
    at_ = random.Below(bytes + 1);
  }
  const std::string_view value(buffer_.data() + at_, bytes);
  at_ += bytes;
  return value;
}

}  // namespace varve
