// How much a table would disturb the levels below if it were merged into them, and so how much there is to
// gain by setting it aside: hot tables are soon overwritten, sparse ones overlap much (L2SM, sections III-C
// and III-D). Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace varve {

// i - lg(entries), where 2^i is the size of the range of user keys: of the 128 bits that follow the first
// `common_prefix` bytes of both ends, i counts from the highest that differs to the last; 0 where none does.
// Beyond its end a key has zeros. `common_prefix` is what all keys of the level begin with: keys of a
// filesystem begin with a kind and the number of a directory, and the bits are for what differs.
double Sparseness(std::string_view smallest, std::string_view largest, uint64_t entries,
                  size_t common_prefix);

struct TableTraits {
  double hotness = 0;
  double sparseness = 0;
};

// Of each table, in their order, between 0 and 1: half of it hotness, half sparseness, each as a share of the
// way from the least among the tables to the most; 0 where all are the same. The paper does not subtract the
// least, by which what differs little beside its size would weigh most.
std::vector<double> CombinedWeights(const std::vector<TableTraits>& tables);

}  // namespace varve
