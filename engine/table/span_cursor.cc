#include "engine/table/span_cursor.h"

#include <utility>

#include "engine/base/internal_key.h"

namespace varve {

void SpanCursor::Reset(std::string_view payload, std::optional<EntrySpan> span) {
  cursor_.Reset(payload);
  span_ = std::move(span);
}

void SpanCursor::SeekToFirst() {
  span_ ? cursor_.Seek(SeekKey(span_->smallest, kSequenceNumberMax)) : cursor_.SeekToFirst();
  EndBehind();
}

void SpanCursor::SeekToLast() {
  if (span_) {
    SeekForPrev(LastKeyOf(span_->largest));
  } else {
    cursor_.SeekToLast();
  }
}

void SpanCursor::Seek(std::string_view internal_key) {
  if (span_ && UserKeyOf(internal_key) < span_->smallest) {
    SeekToFirst();
    return;
  }
  cursor_.Seek(internal_key);
  EndBehind();
}

void SpanCursor::SeekForPrev(std::string_view internal_key) {
  if (span_ && UserKeyOf(internal_key) > span_->largest) {
    SeekToLast();
    return;
  }
  cursor_.Seek(internal_key);
  if (!cursor_.Valid() && !cursor_.corrupt()) {
    cursor_.SeekToLast();
  } else if (cursor_.Valid() && CompareInternalKeys(cursor_.key(), internal_key) > 0) {
    cursor_.Prev();
  }
  EndBefore();
}

void SpanCursor::EndBehind() {
  if (span_ && cursor_.Valid() && UserKeyOf(cursor_.key()) > span_->largest) {
    cursor_.Clear();
  }
}

void SpanCursor::EndBefore() {
  if (span_ && cursor_.Valid() && UserKeyOf(cursor_.key()) < span_->smallest) {
    cursor_.Clear();
  }
}

}  // namespace varve
