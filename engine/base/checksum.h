// Every structure on the device carries one of these (XXH3, 64 bits).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace varve {

// `seed` binds a checksum to the identity of what it covers (store, table, position), so that the right bytes
// in the wrong place do not pass.
uint64_t Checksum64(std::string_view bytes, uint64_t seed = 0);
uint64_t Checksum64(std::span<const std::byte> bytes, uint64_t seed = 0);
inline uint32_t Checksum32(std::string_view bytes, uint64_t seed = 0) {
  return static_cast<uint32_t>(Checksum64(bytes, seed));
}

// Hash for in-memory tables and filters. The same function; a name of its own because filters on the device
// depend on it.
uint64_t Hash64(std::string_view bytes, uint64_t seed = 0);

}  // namespace varve
