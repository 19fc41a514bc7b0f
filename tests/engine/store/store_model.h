// The plain model that the store is tested against: a std::map, the batches that made it, and the states that
// snapshots saw.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/checksum.h"
#include "engine/store/store.h"

namespace varve::testing {

using State = std::map<std::string, std::string>;

// Sums up a state so that it can be compared with a moment of the past: independent of the order of the
// pairs.
inline uint64_t PairDigest(std::string_view key, std::string_view value) {
  return Hash64(value, Hash64(key) | 1);
}

inline uint64_t DigestOf(const State& state) {
  uint64_t digest = 0;
  for (const auto& [key, value] : state) {
    digest += PairDigest(key, value);
  }
  return digest;
}

class StoreModel {
 public:
  struct Record {
    std::string key;
    bool is_delete = false;
    std::string value;
    // Deletes [key, range_end); empty: one key.
    std::string range_end = {};
  };

  void Apply(const std::vector<Record>& batch) {
    for (const Record& record : batch) {
      for (auto deleted = state_.lower_bound(record.key);
           deleted != state_.end() && deleted->first < record.range_end;) {
        digest_ -= PairDigest(deleted->first, deleted->second);
        deleted = state_.erase(deleted);
      }
      const auto found = record.range_end.empty() ? state_.find(record.key) : state_.end();
      if (found != state_.end()) {
        digest_ -= PairDigest(found->first, found->second);
        state_.erase(found);
      }
      if (!record.is_delete) {
        digest_ += PairDigest(record.key, record.value);
        state_.emplace(record.key, record.value);
      }
    }
    log_.push_back(batch);
    digests_.push_back(digest_);
  }

  // Everything so far survives a crash from here on.
  void MarkDurable() { durable_ = log_.size(); }

  // A crash left `survived`: true when that is the state after some number of batches, all durable ones among
  // them. Then the model goes on from there.
  bool CrashTo(const State& survived) {
    const uint64_t digest = DigestOf(survived);
    for (size_t count = log_.size() + 1; count-- > durable_;) {
      const uint64_t then = count == 0 ? 0 : digests_[count - 1];
      if (then == digest) {
        log_.resize(count);
        digests_.resize(count);
        durable_ = count;
        digest_ = digest;
        state_ = survived;
        return true;
      }
    }
    return false;
  }

  const State& state() const { return state_; }
  size_t batches() const { return log_.size(); }
  size_t durable_batches() const { return durable_; }

 private:
  State state_;
  uint64_t digest_ = 0;
  std::vector<std::vector<Record>> log_;
  std::vector<uint64_t> digests_;
  size_t durable_ = 0;
};

}  // namespace varve::testing
