#include "engine/base/key_fences.h"

#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "engine/base/common_prefix.h"
#include "engine/base/units.h"

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

KeyFences::KeyFences(std::span<const std::string_view> keys) : size_(keys.size()) {
  if (keys.empty()) {
    return;
  }
  common_ = keys.front().substr(0, CommonPrefixOf(keys.front(), keys.back()));
  std::vector<uint64_t> layer;
  layer.reserve(keys.size());
  for (const std::string_view key : keys) {
    layer.push_back(EightOf(key.substr(common_.size())));
  }
  last_eight_ = layer.back();
  while (true) {
    const size_t begin = lines_.size();
    layer_begins_[layers_++] = static_cast<uint32_t>(begin);
    layer.resize(CeilDiv(layer.size(), kLineEights) * kLineEights, std::numeric_limits<uint64_t>::max());
    lines_.resize(begin + layer.size() / kLineEights);
    std::memcpy(&lines_[begin], layer.data(), layer.size() * sizeof(uint64_t));
    if (layer.size() == kLineEights) {
      return;
    }
    std::vector<uint64_t> above;
    for (size_t i = kLineEights - 1; i < layer.size(); i += kLineEights) {
      above.push_back(layer[i]);
    }
    layer = std::move(above);
  }
}

KeyFences::Range KeyFences::Near(std::string_view key) const {
  const int order = key.substr(0, common_.size()).compare(common_);
  if (order != 0 || size_ == 0) {
    const size_t place = order < 0 ? 0 : size_;
    return {place, place};
  }
  const uint64_t eight = EightOf(key.substr(common_.size()));
  if (eight > last_eight_) {
    return {size_, size_};
  }
  size_t place = 0;
  for (uint32_t layer = layers_; layer-- > 0;) {
    const Line& line = lines_[layer_begins_[layer] + place];
    // Without branches, which no processor could predict.
    size_t before = 0;
    for (const uint64_t other : line.eights) {
      before += other < eight ? 1 : 0;
    }
    // That many lines of the layer below are passed over whole. There is one more, for none is larger than
    // the last number.
    place = place * kLineEights + before;
  }
  Range near{place, place};
  while (near.end < size_ && EightAt(near.end) == eight) {
    ++near.end;
  }
  return near;
}

}  // namespace varve
