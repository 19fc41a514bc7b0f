// HotMap: which keys were updated of late, and how often (L2SM, section III-C). Five layers of Bloom filters:
// the i-th update of a key sets its bits in the i-th layer, counted from the top, the oldest. A layer that is
// full or says nothing new is retired: what the others know of a key falls by one update, and an empty layer
// comes in at the bottom.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/units.h"
#include "engine/table/filter.h"
#include "engine/table/key_hotness.h"

namespace varve {

struct HotMapOptions {
  // What a layer is for at first, if bytes_max allows it: with ten bits a key the paper's 4 million bits.
  uint64_t layer_keys = 400'000;
  // Of all layers together; each may have a fifth. At least 128 for each.
  uint64_t bytes_max = 16 * kMiB;
};

// Threads: all calls from any thread; a mutex is held for an Add, for a few hundred keys of a sum, and for
// the copy that Encode makes.
class HotMap final : public KeyHotness {
 public:
  static constexpr size_t kLayers = 5;

  struct LayerStatistics {
    uint64_t keys = 0;
    uint64_t capacity = 0;

    bool operator==(const LayerStatistics&) const = default;
  };
  struct Statistics {
    std::array<LayerStatistics, kLayers> layers;  // the top first
    // Layers that were retired since the map was made or read back:
    uint64_t grown = 0;  // full, while more keys are updated again and again: the layer comes back larger
    uint64_t full = 0;   // full of keys of which few were updated again, or there is no memory for more
    uint64_t alike = 0;  // two neighbours had nearly the same keys
  };

  explicit HotMap(const HotMapOptions& options);

  // A key was updated, given by its Hash64.
  void Add(uint64_t hash);
  uint64_t SumOf(const std::vector<uint64_t>& hashes) const override;

  uint64_t bytes() const;
  Statistics statistics() const;

  // What the map knows, for the next opening of the store: a varint version, then for each layer from the top
  // its capacity and keys (varints) and the pages of its filter.
  std::string Encode() const;
  // `bytes` may be anything: nullptr for what Encode does not make, or makes only with more memory than
  // `options` allow. Takes no more memory than they do.
  static std::unique_ptr<HotMap> Decode(std::string_view bytes, const HotMapOptions& options);

 private:
  struct Layer {
    explicit Layer(uint64_t keys_max);

    bool MayContain(uint64_t hash) const {
      return FilterMayContain(geometry, pages[geometry.PageOf(hash)], hash);
    }
    void Insert(uint64_t hash);
    bool full() const { return keys >= capacity; }
    bool much_used() const { return 5 * keys > capacity; }

    uint64_t capacity;
    uint64_t keys = 0;
    FilterGeometry geometry;
    std::vector<std::string> pages;
  };

  // `layers` are kLayers.
  HotMap(std::vector<Layer> layers, uint64_t capacity_max);
  static bool Alike(const Layer& a, const Layer& b);
  uint64_t HotnessOf(uint64_t hash) const;
  void Tune();
  void RetireTop(uint64_t capacity);

  // Of a layer: no more keep within its share of the memory.
  const uint64_t capacity_max_;
  mutable std::mutex mutex_;
  // Both under mutex_. Capacities ascend from the top, to at most a tenth more: so the top is full first.
  std::vector<Layer> layers_;
  Statistics statistics_;
};

}  // namespace varve
