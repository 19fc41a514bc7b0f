#include "engine/table/block_builder.h"

#include <algorithm>

#include "engine/base/coding.h"
#include "engine/base/internal_key.h"

namespace varve {

void BlockBuilder::Add(std::string_view internal_key, std::string_view value) {
  const std::string_view user_key = UserKeyOf(internal_key);
  size_t shared = 0;
  if (entries_ % kRestartInterval == 0) {
    restarts_.push_back(static_cast<uint32_t>(bytes_.size()));
  } else {
    const size_t limit = std::min(user_key.size(), last_user_key_.size());
    shared = static_cast<size_t>(
        std::mismatch(user_key.begin(), user_key.begin() + limit, last_user_key_.begin()).first -
        user_key.begin());
  }
  char head[3 * kVarintBytesMax];
  char* end = StoreVarint(head, shared);
  end = StoreVarint(end, user_key.size() - shared);
  end = StoreVarint(end, value.size());
  bytes_.append(head, static_cast<size_t>(end - head));
  bytes_.append(internal_key.substr(shared));
  bytes_.append(value);
  last_user_key_.resize(shared);
  last_user_key_.append(user_key.substr(shared));
  ++entries_;
}

std::string& BlockBuilder::Finish() {
  for (const uint32_t restart : restarts_) {
    AppendFixed(bytes_, restart);
  }
  AppendFixed(bytes_, static_cast<uint32_t>(restarts_.size()));
  return bytes_;
}

void BlockBuilder::Reset() {
  bytes_.clear();
  restarts_.clear();
  last_user_key_.clear();
  entries_ = 0;
}

}  // namespace varve
