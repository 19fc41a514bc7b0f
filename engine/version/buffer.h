// Buffer: the compaction buffer of one level (LSbM, section 4): views of tables whose records have also been
// merged into the level. They stay on the device so that their blocks stay in the cache; a level answers the
// same without them.
//
// What the paper calls a removed file, and this project a hole, is a range of keys for which nothing older in
// the buffer may be believed. Here a hole is applied when it is made: the range is taken from what every
// older view is asked for. So none has to be kept, none can be forgotten, and what no read can reach any more
// goes at once. Rules: docs/design/compaction-buffer.md.
//
// Buffers live in memory only: a store is opened with empty ones, as its cache is.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/units.h"
#include "engine/version/key_spans.h"
#include "engine/version/live_table.h"

namespace varve {

struct BufferedView {
  InstallStamp stamp;
  std::shared_ptr<const LiveTable> table;
  // For which keys it is asked, within the table's range; never none. A trimmed view has no bytes for others.
  KeySpans kept;
};

// Threads: immutable, so any. Copies share what they hold.
class Buffer {
 public:
  Buffer() = default;
  // Oldest first.
  explicit Buffer(std::vector<BufferedView> views);

  bool empty() const { return content_ == nullptr; }
  // Oldest first.
  std::span<const BufferedView> views() const;
  // The tables to ask for `user_key`, newest first: the first that holds a version which the reader sees has
  // the newest one of the level.
  std::span<const LiveTable* const> At(std::string_view user_key) const;
  // Whether some view is asked for a key of the range.
  bool Overlaps(const KeyRangeView& range) const;
  // What its tables take of the device.
  uint64_t total_bytes() const;

 private:
  struct Content;
  // nullptr for an empty one.
  std::shared_ptr<const Content> content_;
};

// Takes `hidden` from what those of `views` before position `end` are asked for.
void HideKeys(std::vector<BufferedView>& views, size_t end, const KeySpans& hidden);

}  // namespace varve
