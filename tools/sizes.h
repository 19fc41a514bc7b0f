// Sizes as people write and read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace varve {

// "4096", "64M", "1.5G", "2TiB": digits, then optionally K, M, G, T or P, each 1024 times the one before,
// then optionally "B" or "iB"; case does not matter. nullopt for anything else, and beyond 64 bits.
std::optional<uint64_t> ParseSize(std::string_view text);

// At most four digits: "512 B", "64.0 KiB", "1.50 GiB".
std::string FormatSize(uint64_t bytes);

}  // namespace varve
