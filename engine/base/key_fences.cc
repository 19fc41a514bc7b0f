#include "engine/base/key_fences.h"

#include <bit>
#include <cstring>

#include "engine/base/common_prefix.h"

namespace varve {

namespace {

uint64_t EightOf(std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little);
  uint64_t eight = 0;
  if (bytes.size() >= sizeof(eight)) {
    std::memcpy(&eight, bytes.data(), sizeof(eight));
  } else if (!bytes.empty()) {
    std::memcpy(&eight, bytes.data(), bytes.size());
  }
  return __builtin_bswap64(eight);
}

}  // namespace

KeyFences::KeyFences(std::span<const std::string_view> keys) {
  if (keys.empty()) {
    return;
  }
  common_ = keys.front().substr(0, CommonPrefixOf(keys.front(), keys.back()));
  eights_.reserve(keys.size());
  for (const std::string_view key : keys) {
    eights_.push_back(EightOf(key.substr(common_.size())));
  }
}

KeyFences::Range KeyFences::Near(std::string_view key) const {
  const int order = key.substr(0, common_.size()).compare(common_);
  if (order != 0 || eights_.empty()) {
    const size_t place = order < 0 ? 0 : eights_.size();
    return {place, place};
  }
  const uint64_t eight = EightOf(key.substr(common_.size()));
  // Without branches, which no processor could predict.
  const uint64_t* base = eights_.data();
  for (size_t left = eights_.size(); left > 1;) {
    const size_t half = left / 2;
    base += base[half - 1] < eight ? half : 0;
    left -= half;
  }
  Range near;
  near.first = static_cast<size_t>(base - eights_.data()) + (*base < eight ? 1 : 0);
  near.end = near.first;
  while (near.end < eights_.size() && eights_[near.end] == eight) {
    ++near.end;
  }
  return near;
}

}  // namespace varve
