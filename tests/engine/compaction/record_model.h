// A plain model of a store that remembers every version.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace varve {

// A key that an index shortens (engine/table/index_keys.h): some share more with their neighbours than it
// leaves of a key.
inline std::string LongKey(uint64_t n) {
  return fmt::format("{:05}{}{}{}", n / 8, std::string(40, 'k'), n % 8, std::string(30, 'z'));
}

class RecordModel {
 public:
  void Put(uint64_t sequence, const std::string& key, std::optional<std::string> value) {
    history_[key][sequence] = std::move(value);
  }
  std::optional<std::string> Read(const std::string& key, uint64_t snapshot) const {
    const auto versions = history_.find(key);
    if (versions == history_.end()) {
      return std::nullopt;
    }
    auto after = versions->second.upper_bound(snapshot);
    return after == versions->second.begin() ? std::nullopt : std::prev(after)->second;
  }

 private:
  std::map<std::string, std::map<uint64_t, std::optional<std::string>>> history_;
};

}  // namespace varve
