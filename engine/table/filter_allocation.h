// How many bits a key the filters of each level get, so that a get of an absent key is misled least for the
// memory that all filters take together (Dayan, Athanassoulis, Idreos, "Monkey", section 4.1, with what the
// levels really hold in place of their nominal sizes). A pure function.
//
// A get asks every run. A filter with room for c keys costs c times its bits, and full it misleads with a
// rate that falls as e^(-ln²2·bits). The sum of all rates is least where each rate is in proportion to c.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace varve {

// What a get finds at one level: so many sorted runs, each with a filter over its keys.
struct FilterLoad {
  double runs = 0;
  // Keys that the filter of one run has room for, on average, reserve included. How many of them are in it
  // yet does not count: the room is there to be used, and the fullest filters of a level mislead the most.
  double capacity = 0;
};

// Fewer do not tell keys apart; more than this cost the processor more probes than they save reads.
inline constexpr double kBitsPerKeyMin = 4;
inline constexpr double kBitsPerKeyMax = 20;

// For each of `loads`, its bits a key: all filters together take what they would with `bits_per_key` for
// each, or less. A load without keys gets `bits_per_key`.
std::vector<double> AllocateFilterBits(std::span<const FilterLoad> loads, double bits_per_key);

}  // namespace varve
