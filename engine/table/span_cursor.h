// SpanCursor: walks a data block, or of it a span: the records between two user keys, where an entry of the
// index means only those (docs/on-disk/table.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/table/data_block.h"

namespace varve {

// User keys, both held.
struct EntrySpan {
  std::string smallest;
  std::string largest;
};

class SpanCursor {
 public:
  // Nothing: the whole block. The payload must outlive the walk.
  void Reset(std::string_view payload, std::optional<EntrySpan> span);
  // Stands nowhere, until the next Reset.
  void Clear() { cursor_.Clear(); }

  void SeekToFirst();
  void SeekToLast();
  // To the first record at or after `internal_key`, or the last one at or before it.
  void Seek(std::string_view internal_key);
  void SeekForPrev(std::string_view internal_key);
  // Precondition of the next two: Valid().
  void Next() {
    cursor_.Next();
    EndBehind();
  }
  void Prev() {
    cursor_.Prev();
    EndBefore();
  }

  bool Valid() const { return cursor_.Valid(); }
  bool corrupt() const { return cursor_.corrupt(); }
  // After a move that left a whole block at either end: of the record that it left.
  std::string_view key() const { return cursor_.key(); }
  std::string_view value() const { return cursor_.value(); }
  const std::optional<EntrySpan>& span() const { return span_; }

 private:
  // Where the block goes on and the span does not.
  void EndBehind();
  void EndBefore();

  DataBlockCursor cursor_;
  std::optional<EntrySpan> span_;
};

}  // namespace varve
