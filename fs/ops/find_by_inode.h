// Searching vectors of items that have a member `inode` and are sorted by it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace varve {

template <typename Items>
auto* FindByInode(Items& sorted, uint64_t inode) {
  const auto found = std::lower_bound(sorted.begin(), sorted.end(), inode,
                                      [](const auto& item, uint64_t wanted) { return item.inode < wanted; });
  return found != sorted.end() && found->inode == inode ? &*found : nullptr;
}

template <typename Item>
void SortByInode(std::vector<Item>& items) {
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.inode < b.inode; });
}

}  // namespace varve
