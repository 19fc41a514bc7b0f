#include "engine/table/index_block.h"

#include <algorithm>

#include "engine/base/coding.h"
#include "engine/base/common_prefix.h"
#include "engine/base/inline_decoder.h"

namespace varve {
namespace {

// Of at most eight bytes, the first one the highest.
inline uint64_t NumberOf(std::string_view bytes) {
  uint64_t n = 0;
  for (const char byte : bytes) {
    n = n << 8 | static_cast<uint8_t>(byte);
  }
  return n;
}

constexpr uint32_t kOffsetsInALine = 64 / sizeof(uint32_t);
// Added to a block's bytes, which 32 bits hold.
constexpr uint64_t kSpanFlag = uint64_t{1} << 32;

}  // namespace

std::string EncodeIndexBlock(const std::vector<IndexEntry>& entries) {
  // Sorted: what the first and the last share, all share.
  const std::string_view first = entries.front().largest;
  const std::string_view prefix = first.substr(0, CommonPrefixOf(first, entries.back().largest));
  std::string payload;
  std::vector<uint32_t> offsets;
  offsets.reserve(entries.size());
  AppendLengthPrefixed(payload, prefix);
  const size_t base = payload.size();
  for (const IndexEntry& entry : entries) {
    offsets.push_back(static_cast<uint32_t>(payload.size() - base));
    const size_t shared = CommonPrefixOf(entry.smallest, entry.largest);
    AppendLengthPrefixed(payload, std::string_view(entry.largest).substr(prefix.size()));
    AppendVarint(payload, shared);
    AppendLengthPrefixed(payload, std::string_view(entry.smallest).substr(shared));
    AppendVarint(payload, entry.block.table_offset);
    AppendVarint(payload, entry.block.bytes + (entry.is_span ? kSpanFlag : 0));
    AppendVarint(payload, entry.block.birth.value);
    AppendFixed(payload, entry.block.checksum);
    AppendVarint(payload, entry.entries);
    payload.append(entry.outline);
  }
  for (const uint32_t offset : offsets) {
    AppendFixed(payload, offset);
  }
  AppendFixed(payload, static_cast<uint32_t>(offsets.size()));
  return payload;
}

size_t IndexEntryBytesMax(const IndexEntry& entry) {
  // The keys, their three lengths, the handle's varints and checksum, entries, the offset; the outline.
  return entry.largest.size() + entry.smallest.size() - CommonPrefixOf(entry.smallest, entry.largest) +
         3 * 3 + 28 + entry.outline.size();
}

std::optional<IndexBlock> IndexBlock::Parse(std::string_view payload) {
  if (payload.size() < sizeof(uint32_t)) {
    return std::nullopt;
  }
  const auto count = LoadFixed<uint32_t>(payload.data() + payload.size() - sizeof(uint32_t));
  payload.remove_suffix(sizeof(uint32_t));
  if (count == 0 || count > payload.size() / sizeof(uint32_t)) {
    return std::nullopt;
  }
  IndexBlock block;
  block.count_ = count;
  block.offsets_ = payload.data() + payload.size() - count * sizeof(uint32_t);
  payload.remove_suffix(count * sizeof(uint32_t));
  Decoder decoder(payload);
  const std::optional<std::string_view> prefix = decoder.LengthPrefixed();
  if (!prefix) {
    return std::nullopt;
  }
  block.prefix_ = *prefix;
  block.entries_ = decoder.rest();
  return block;
}

inline std::optional<std::string_view> IndexBlock::LargestRestAt(uint32_t i) const {
  const auto offset = LoadFixed<uint32_t>(offsets_ + i * sizeof(uint32_t));
  if (offset >= entries_.size()) {
    return std::nullopt;
  }
  const std::string_view from = entries_.substr(offset);
  const size_t length = static_cast<uint8_t>(from[0]);
  if (length < 0x80) [[likely]] {
    return length < from.size() ? std::optional(from.substr(1, length)) : std::nullopt;
  }
  return Decoder(from).LengthPrefixed();
}

// Any address may be prefetched, so a corrupt offset does no harm.
inline void IndexBlock::PrefetchEntry(uint32_t i) const {
  __builtin_prefetch(entries_.data() + LoadFixed<uint32_t>(offsets_ + i * sizeof(uint32_t)));
}

// Chunks of a file have keys that end with a number, one of them a block: where nothing is missing between
// the first one and the one that is asked for, that tells where it is without a search.
inline std::optional<uint32_t> IndexBlock::CountedTo(std::string_view rest) const {
  if (rest.empty() || rest.size() > sizeof(uint64_t)) {
    return std::nullopt;
  }
  const std::optional<std::string_view> first = LargestRestAt(0);
  if (!first || first->size() != rest.size()) {
    return std::nullopt;
  }
  const uint64_t distance = NumberOf(rest) - NumberOf(*first);
  if (distance >= count_) {
    return std::nullopt;
  }
  const auto i = static_cast<uint32_t>(distance);
  // Entries are sorted: where one ends with the key itself, those before it end sooner.
  return LargestRestAt(i) == rest ? std::optional(i) : std::nullopt;
}

std::optional<uint32_t> IndexBlock::LowerBound(std::string_view user_key) const {
  const int by_prefix = user_key.substr(0, prefix_.size()).compare(prefix_);
  if (by_prefix != 0) {
    return by_prefix < 0 ? 0 : count_;
  }
  const std::string_view rest = user_key.substr(prefix_.size());
  if (const std::optional<uint32_t> counted = CountedTo(rest)) {
    return counted;
  }
  uint32_t low = 0;
  uint32_t high = count_;
  // Most of a search in a large store is waiting for memory: the offsets come all at once, and the two
  // entries that may be next while this one is compared.
  for (uint32_t i = 0; i < count_; i += kOffsetsInALine) {
    __builtin_prefetch(offsets_ + i * sizeof(uint32_t));
  }
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    PrefetchEntry(low + (middle - low) / 2);
    PrefetchEntry(std::min(middle + (high - middle + 1) / 2, high - 1));
    const std::optional<std::string_view> largest = LargestRestAt(middle);
    if (!largest) {
      return std::nullopt;
    }
    if (*largest < rest) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

inline size_t IndexBlock::EndOf(uint32_t i) const {
  return i + 1 < count_ ? LoadFixed<uint32_t>(offsets_ + (i + 1) * sizeof(uint32_t)) : entries_.size();
}

std::optional<IndexBlock::Entry> IndexBlock::At(uint32_t i) const {
  const auto offset = LoadFixed<uint32_t>(offsets_ + i * sizeof(uint32_t));
  const size_t end = EndOf(i);
  if (offset > end || end > entries_.size()) {
    return std::nullopt;
  }
  InlineDecoder reader(entries_.substr(offset, end - offset));
  const std::string_view largest = reader.LengthPrefixed();
  const uint64_t shared = reader.Varint();
  const std::string_view smallest = reader.LengthPrefixed();
  const uint64_t table_offset = reader.Varint();
  const uint64_t bytes = reader.Varint();
  const uint64_t birth = reader.Varint();
  const uint32_t checksum = reader.Fixed<uint32_t>();
  const uint64_t entries = reader.Varint();
  // A field behind one that is missing may be read from the wrong place: all must be there.
  if (!reader.ok() || shared > prefix_.size() + largest.size() || bytes >= 2 * kSpanFlag ||
      table_offset > UINT64_MAX - UINT32_MAX) {
    return std::nullopt;
  }
  return Entry{
      largest,      static_cast<size_t>(shared),
      smallest,     BlockHandle{table_offset, static_cast<uint32_t>(bytes), checksum, Generation(birth)},
      entries,      bytes >= kSpanFlag,
      reader.rest()};
}

bool IndexBlock::StartsAfter(const Entry& entry, std::string_view user_key) const {
  // The smallest key in three parts: of the prefix, of the largest key's rest, its own rest.
  const std::string_view parts[] = {
      prefix_.substr(0, entry.shared),
      entry.largest_rest.substr(0, entry.shared - std::min(entry.shared, prefix_.size())),
      entry.smallest_rest};
  for (const std::string_view part : parts) {
    const int order = part.compare(user_key.substr(0, part.size()));
    if (order != 0) {
      return order > 0;
    }
    user_key.remove_prefix(part.size());
  }
  return false;
}

IndexEntry IndexBlock::Copy(const Entry& entry) const {
  IndexEntry copy;
  copy.largest.reserve(prefix_.size() + entry.largest_rest.size());
  copy.largest.append(prefix_).append(entry.largest_rest);
  copy.smallest = copy.largest.substr(0, entry.shared);
  copy.smallest.append(entry.smallest_rest);
  copy.block = entry.block;
  copy.entries = entry.entries;
  copy.is_span = entry.is_span;
  copy.outline = entry.outline;
  return copy;
}

}  // namespace varve
