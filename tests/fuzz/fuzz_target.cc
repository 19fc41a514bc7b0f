#include "tests/fuzz/fuzz_target.h"

#include <algorithm>
#include <array>

namespace varve::fuzz {

namespace {

constexpr std::array kTargets = {
    FuzzTarget{"superblock", &RunSuperblock, &SuperblockSeeds},
    FuzzTarget{"manifest", &RunManifest, &ManifestSeeds},
    FuzzTarget{"wal", &RunWal, &WalSeeds},
    FuzzTarget{"table", &RunTable, &TableSeeds},
    FuzzTarget{"namespace", &RunNamespace, &NamespaceSeeds},
    FuzzTarget{"image", &RunImage, &ImageSeeds},
};

}  // namespace

std::span<const FuzzTarget> AllTargets() {
  return kTargets;
}

const FuzzTarget* FindTarget(std::string_view name) {
  const auto found = std::find_if(kTargets.begin(), kTargets.end(),
                                  [name](const FuzzTarget& target) { return target.name == name; });
  return found == kTargets.end() ? nullptr : &*found;
}

uint64_t InputReader::Number(size_t width) {
  uint64_t number = 0;
  const std::string_view bytes = Bytes(width);
  for (size_t i = 0; i < bytes.size(); ++i) {
    number |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[i])) << (8 * i);
  }
  return number;
}

std::string_view InputReader::Bytes(size_t count) {
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(taken.size());
  return taken;
}

void AppendNumber(std::string& to, uint64_t number, size_t width) {
  for (size_t i = 0; i < width; ++i) {
    to.push_back(static_cast<char>(number >> (8 * i) & 0xff));
  }
}

}  // namespace varve::fuzz
