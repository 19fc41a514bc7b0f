#include "engine/sst_log/hot_map.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/coding.h"

namespace varve {
namespace {

static_assert(KeyHotness::kMax == (2U << HotMap::kLayers) - 2);

constexpr double kBitsPerKey = 10;
constexpr uint64_t kEncodingVersion = 1;
// A merge adds keys while a table's are summed up: neither makes the other wait for long.
constexpr size_t kHashesPerLock = 512;

// The most keys whose filter takes at most `bytes`. Only whole pages are sure to have no line too many.
uint64_t CapacityWithin(uint64_t bytes) {
  uint64_t lines = bytes / kFilterLineBytes;
  if (lines > kFilterLinesPerPageMax) {
    lines -= lines % kFilterLinesPerPageMax;
  }
  return static_cast<uint64_t>(static_cast<double>(lines * kFilterLineBytes * 8) / kBitsPerKey);
}

uint64_t CapacityMaxOf(const HotMapOptions& options) {
  const uint64_t capacity = CapacityWithin(options.bytes_max / HotMap::kLayers);
  Check(capacity > 0, "no memory for a map of hot keys");
  return capacity;
}

uint64_t BytesOf(const FilterGeometry& geometry) {
  return uint64_t{geometry.pages} * geometry.page_bytes();
}

uint64_t BitsSet(std::string_view bytes) {
  uint64_t bits = 0;
  for (const char byte : bytes) {
    bits += static_cast<uint64_t>(std::popcount(static_cast<uint8_t>(byte)));
  }
  return bits;
}

}  // namespace

HotMap::Layer::Layer(uint64_t keys_max)
    : capacity(keys_max),
      geometry(FilterGeometry::For(keys_max, kBitsPerKey)),
      pages(geometry.pages, std::string(geometry.page_bytes(), '\0')) {
}

void HotMap::Layer::Insert(uint64_t hash) {
  FilterInsert(geometry, pages[geometry.PageOf(hash)], hash);
  ++keys;
}

HotMap::HotMap(const HotMapOptions& options) : capacity_max_(CapacityMaxOf(options)) {
  layers_.reserve(kLayers);
  while (layers_.size() < kLayers) {
    layers_.emplace_back(std::clamp<uint64_t>(options.layer_keys, 1, capacity_max_));
  }
}

HotMap::HotMap(std::vector<Layer> layers, uint64_t capacity_max)
    : capacity_max_(capacity_max), layers_(std::move(layers)) {
}

void HotMap::Add(uint64_t hash) {
  const std::lock_guard lock(mutex_);
  const auto layer = std::find_if(layers_.begin(), layers_.end(),
                                  [&](const Layer& candidate) { return !candidate.MayContain(hash); });
  if (layer == layers_.end()) {
    return;
  }
  // One that was full before it came to the top waits there to be retired.
  if (!layer->full()) {
    layer->Insert(hash);
  }
  Tune();
}

// L2SM, figure 5.
void HotMap::Tune() {
  while (layers_.front().full()) {
    const uint64_t capacity = layers_.front().capacity;
    const uint64_t grown = capacity + capacity / 10;
    if (layers_[1].much_used() && grown <= capacity_max_) {
      RetireTop(grown);
      ++statistics_.grown;
    } else {
      RetireTop(layers_.back().capacity);
      ++statistics_.full;
    }
  }
  // If that leaves others that are alike, the next key finds them.
  if (std::adjacent_find(layers_.begin(), layers_.end(), Alike) != layers_.end()) {
    RetireTop(layers_.back().capacity);
    ++statistics_.alike;
  }
}

bool HotMap::Alike(const Layer& a, const Layer& b) {
  const auto [less, more] = std::minmax(a.keys, b.keys);
  return a.much_used() && b.much_used() && 10 * (more - less) < more;
}

void HotMap::RetireTop(uint64_t capacity) {
  layers_.erase(layers_.begin());
  layers_.emplace_back(capacity);
}

uint64_t HotMap::SumOf(const std::vector<uint64_t>& hashes) const {
  uint64_t sum = 0;
  for (size_t begin = 0; begin < hashes.size(); begin += kHashesPerLock) {
    const size_t end = std::min(begin + kHashesPerLock, hashes.size());
    const std::lock_guard lock(mutex_);
    for (size_t i = begin; i < end; ++i) {
      sum += HotnessOf(hashes[i]);
    }
  }
  return sum;
}

// A key is in no layer unless it is in all above: the first that denies it ends the sum, which so takes up
// fewer of the others' false positives.
uint64_t HotMap::HotnessOf(uint64_t hash) const {
  const auto denies = std::find_if(layers_.begin(), layers_.end(),
                                   [&](const Layer& layer) { return !layer.MayContain(hash); });
  return (uint64_t{2} << (denies - layers_.begin())) - 2;
}

uint64_t HotMap::bytes() const {
  const std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const Layer& layer : layers_) {
    bytes += BytesOf(layer.geometry);
  }
  return bytes;
}

HotMap::Statistics HotMap::statistics() const {
  const std::lock_guard lock(mutex_);
  Statistics statistics = statistics_;
  for (size_t i = 0; i < kLayers; ++i) {
    statistics.layers[i] = {layers_[i].keys, layers_[i].capacity};
  }
  return statistics;
}

std::string HotMap::Encode() const {
  const std::lock_guard lock(mutex_);
  std::string to;
  AppendVarint(to, kEncodingVersion);
  for (const Layer& layer : layers_) {
    AppendVarint(to, layer.capacity);
    AppendVarint(to, layer.keys);
    for (const std::string& page : layer.pages) {
      to.append(page);
    }
  }
  return to;
}

std::unique_ptr<HotMap> HotMap::Decode(std::string_view bytes, const HotMapOptions& options) {
  const uint64_t capacity_max = CapacityMaxOf(options);
  Decoder decoder(bytes);
  if (decoder.Varint() != kEncodingVersion) {
    return nullptr;
  }
  std::vector<Layer> layers;
  layers.reserve(kLayers);
  while (layers.size() < kLayers) {
    const std::optional<uint64_t> capacity = decoder.Varint();
    const std::optional<uint64_t> keys = decoder.Varint();
    if (!capacity || !keys || *capacity == 0 || *capacity > capacity_max || *keys > *capacity) {
      return nullptr;
    }
    const FilterGeometry geometry = FilterGeometry::For(*capacity, kBitsPerKey);
    const std::optional<std::string_view> content = decoder.Bytes(BytesOf(geometry));
    // A filter of many more bits than its keys can have set would have every key, and never be full.
    if (!content || BitsSet(*content) > *keys * geometry.probes) {
      return nullptr;
    }
    Layer& layer = layers.emplace_back(*capacity);
    layer.keys = *keys;
    for (size_t i = 0; i < layer.pages.size(); ++i) {
      layer.pages[i] = content->substr(i * geometry.page_bytes(), geometry.page_bytes());
    }
  }
  if (!decoder.empty()) {
    return nullptr;
  }
  return std::unique_ptr<HotMap>(new HotMap(std::move(layers), capacity_max));
}

}  // namespace varve
