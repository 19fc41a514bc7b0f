#include "engine/space/extent.h"

#include <fmt/core.h>

#include <limits>

namespace varve {

uint64_t TotalBytes(std::span<const Extent> extents) {
  uint64_t bytes = 0;
  for (const Extent& extent : extents) {
    bytes += extent.bytes();
  }
  return bytes;
}

std::string DescribeExtents(std::span<const Extent> extents) {
  std::string text = "units ";
  for (size_t i = 0; i < extents.size(); ++i) {
    text += fmt::format("{}{}+{}", i == 0 ? "" : ", ", extents[i].first_unit, extents[i].units);
  }
  return text;
}

std::optional<DevicePiece> PieceAt(std::span<const Extent> extents, uint64_t position) {
  for (const Extent& extent : extents) {
    if (position < extent.bytes()) {
      return DevicePiece{extent.offset() + position, extent.bytes() - position};
    }
    position -= extent.bytes();
  }
  return std::nullopt;
}

void AppendExtents(std::string& to, std::span<const Extent> extents) {
  AppendVarint(to, extents.size());
  for (const Extent& extent : extents) {
    AppendVarint(to, extent.first_unit);
    AppendVarint(to, extent.units);
  }
}

std::optional<std::vector<Extent>> DecodeExtents(Decoder& from) {
  constexpr uint64_t kUnitsMax = uint64_t{std::numeric_limits<uint32_t>::max()} + 1;
  const std::optional<uint64_t> count = from.Varint();
  // Each extent takes two bytes at least: a damaged count cannot make this allocate more than the input's
  // size.
  if (!count || *count > from.rest().size() / 2) {
    return std::nullopt;
  }
  std::vector<Extent> extents;
  extents.reserve(*count);
  for (uint64_t i = 0; i < *count; ++i) {
    const std::optional<uint64_t> first = from.Varint();
    const std::optional<uint64_t> units = from.Varint();
    if (!first || !units || *units == 0 || *first >= kUnitsMax || *units > kUnitsMax - *first ||
        *units == kUnitsMax) {
      return std::nullopt;
    }
    extents.push_back({static_cast<uint32_t>(*first), static_cast<uint32_t>(*units)});
  }
  return extents;
}

}  // namespace varve
