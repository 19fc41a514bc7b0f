#include "engine/table/data_block.h"

#include <algorithm>

#include "engine/base/coding.h"
#include "engine/base/common_prefix.h"
#include "engine/base/internal_key.h"

namespace varve {
namespace {

// Reads a varint of at most 32 bits; nullptr when there is none before `end`.
const char* ReadLength(const char* from, const char* end, uint32_t& length) {
  uint32_t result = 0;
  for (uint32_t shift = 0; shift <= 28 && from < end; shift += 7) {
    const auto byte = static_cast<uint8_t>(*from++);
    if (shift == 28 && byte > 0x0f) {
      return nullptr;
    }
    result |= static_cast<uint32_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      length = result;
      return from;
    }
  }
  return nullptr;
}

}  // namespace

std::optional<DataBlock> DataBlock::Parse(std::string_view payload) {
  if (payload.size() < 2 * sizeof(uint32_t) || payload.size() > UINT32_MAX) {
    return std::nullopt;
  }
  const auto restarts = LoadFixed<uint32_t>(payload.data() + payload.size() - sizeof(uint32_t));
  payload.remove_suffix(sizeof(uint32_t));
  if (restarts == 0 || restarts > payload.size() / sizeof(uint32_t)) {
    return std::nullopt;
  }
  DataBlock block;
  block.restarts_ = restarts;
  block.entries_ = payload.substr(0, payload.size() - restarts * sizeof(uint32_t));
  block.restart_offsets_ = block.entries_.data() + block.entries_.size();
  return block;
}

std::optional<uint32_t> DataBlock::RestartAt(uint32_t i) const {
  const auto offset = LoadFixed<uint32_t>(restart_offsets_ + i * sizeof(uint32_t));
  if (offset >= entries_.size()) {
    return std::nullopt;
  }
  return offset;
}

inline std::optional<DataBlock::Entry> DataBlock::EntryAt(uint32_t offset) const {
  const char* at = entries_.data() + offset;
  const char* const end = entries_.data() + entries_.size();
  uint32_t shared = 0;
  uint32_t rest = 0;
  uint32_t value = 0;
  if (end - at >= 3 && ((at[0] | at[1] | at[2]) & 0x80) == 0) {
    // The usual case: short keys, short values.
    shared = static_cast<uint8_t>(at[0]);
    rest = static_cast<uint8_t>(at[1]);
    value = static_cast<uint8_t>(at[2]);
    at += 3;
  } else {
    at = ReadLength(at, end, shared);
    at = at == nullptr ? nullptr : ReadLength(at, end, rest);
    at = at == nullptr ? nullptr : ReadLength(at, end, value);
    if (at == nullptr) {
      return std::nullopt;
    }
  }
  if (uint64_t{rest} + kTrailerBytes + value > static_cast<uint64_t>(end - at)) {
    return std::nullopt;
  }
  Entry entry;
  entry.shared = shared;
  entry.rest = std::string_view(at, rest);
  entry.trailer = LoadFixed<uint64_t>(at + rest);
  entry.value = std::string_view(at + rest + kTrailerBytes, value);
  entry.next = static_cast<uint32_t>(at + rest + kTrailerBytes + value - entries_.data());
  return entry;
}

std::optional<uint32_t> DataBlock::RestartBefore(std::string_view user_key, uint64_t trailer) const {
  uint32_t low = 0;
  uint32_t high = restarts_ - 1;
  while (low < high) {
    const uint32_t middle = low + (high - low + 1) / 2;
    const std::optional<uint32_t> offset = RestartAt(middle);
    if (!offset) {
      return std::nullopt;
    }
    const std::optional<Entry> entry = EntryAt(*offset);
    if (!entry || entry->shared != 0) {
      return std::nullopt;
    }
    const int order = entry->rest.compare(user_key);
    // A larger trailer is newer and sorts first.
    if (order < 0 || (order == 0 && entry->trailer > trailer)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

FoundVersion FindInDataBlock(std::string_view payload, std::string_view user_key, SequenceNumber snapshot) {
  const FoundVersion corrupt{FoundVersion::Kind::kCorrupt, 0, {}};
  const std::optional<DataBlock> block = DataBlock::Parse(payload);
  if (!block) {
    return corrupt;
  }
  const uint64_t trailer = PackTrailer(snapshot, kSeekKind);
  const std::optional<uint32_t> restart = block->RestartBefore(user_key, trailer);
  const std::optional<uint32_t> start = restart ? block->RestartAt(*restart) : std::nullopt;
  if (!start) {
    return corrupt;
  }
  // How many bytes the last entry's key shares with user_key; it sorts before user_key. An entry that shares
  // more with its predecessor than that differs from user_key in the same byte as the predecessor: it sorts
  // before, too.
  size_t matched = 0;
  size_t last_key_bytes = 0;
  for (uint32_t offset = *start; offset < block->end();) {
    const std::optional<DataBlock::Entry> entry = block->EntryAt(offset);
    if (!entry || entry->shared > last_key_bytes) {
      return corrupt;
    }
    if (entry->shared <= matched) {
      const std::string_view wanted = user_key.substr(entry->shared);
      const size_t common = CommonPrefixOf(entry->rest, wanted);
      matched = entry->shared + common;
      if (common == wanted.size()) {
        if (common < entry->rest.size()) {
          return {};
        }
        if (entry->trailer <= trailer) {
          return FoundVersion{FoundVersion::Kind::kFound, entry->trailer, entry->value};
        }
      } else if (common < entry->rest.size() &&
                 static_cast<uint8_t>(entry->rest[common]) > static_cast<uint8_t>(wanted[common])) {
        return {};
      }
    }
    last_key_bytes = entry->shared + entry->rest.size();
    offset = entry->next;
  }
  return {};
}

void DataBlockCursor::Reset(std::string_view payload) {
  valid_ = false;
  corrupt_ = false;
  key_.clear();
  const std::optional<DataBlock> block = DataBlock::Parse(payload);
  if (block && block->end() > 0) {
    block_ = *block;
  } else {
    corrupt_ = true;
  }
}

void DataBlockCursor::Fail() {
  valid_ = false;
  corrupt_ = true;
}

bool DataBlockCursor::ReadAt(uint32_t offset) {
  const std::optional<DataBlock::Entry> entry = block_.EntryAt(offset);
  const size_t last_key_bytes = key_.empty() ? 0 : key_.size() - kTrailerBytes;
  if (!entry || entry->shared > last_key_bytes) {
    Fail();
    return false;
  }
  key_.resize(entry->shared);
  // The trailer lies behind the rest of the user key.
  key_.append(entry->rest.data(), entry->rest.size() + kTrailerBytes);
  value_ = entry->value;
  offset_ = offset;
  next_ = entry->next;
  valid_ = true;
  return true;
}

void DataBlockCursor::SeekToFirst() {
  if (corrupt_) {
    return;
  }
  key_.clear();
  ReadAt(0);
}

void DataBlockCursor::WalkToLastBefore(uint32_t restart, uint32_t limit) {
  const std::optional<uint32_t> start = block_.RestartAt(restart);
  if (!start || *start >= limit) {
    Fail();
    return;
  }
  key_.clear();
  uint32_t offset = *start;
  while (ReadAt(offset) && next_ < limit) {
    offset = next_;
  }
}

void DataBlockCursor::SeekToLast() {
  if (corrupt_) {
    return;
  }
  WalkToLastBefore(block_.restarts() - 1, block_.end());
}

void DataBlockCursor::Seek(std::string_view internal_key) {
  if (corrupt_) {
    return;
  }
  const std::optional<uint32_t> restart =
      block_.RestartBefore(UserKeyOf(internal_key), TrailerOf(internal_key));
  const std::optional<uint32_t> start = restart ? block_.RestartAt(*restart) : std::nullopt;
  if (!start) {
    Fail();
    return;
  }
  key_.clear();
  uint32_t offset = *start;
  while (ReadAt(offset) && CompareInternalKeys(key_, internal_key) < 0) {
    if (next_ >= block_.end()) {
      valid_ = false;
      return;
    }
    offset = next_;
  }
}

void DataBlockCursor::Next() {
  if (next_ >= block_.end()) {
    valid_ = false;
    return;
  }
  ReadAt(next_);
  // Behind a value of some size it would be waited for.
  if (next_ < block_.end()) {
    block_.PrefetchEntry(next_);
  }
}

void DataBlockCursor::Prev() {
  if (offset_ == 0) {
    valid_ = false;
    return;
  }
  // The last restart point before the entry; then forward to the entry's predecessor.
  uint32_t low = 0;
  uint32_t high = block_.restarts() - 1;
  while (low < high) {
    const uint32_t middle = low + (high - low + 1) / 2;
    const std::optional<uint32_t> offset = block_.RestartAt(middle);
    if (!offset) {
      Fail();
      return;
    }
    if (*offset < offset_) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  WalkToLastBefore(low, offset_);
}

}  // namespace varve
