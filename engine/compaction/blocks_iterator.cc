#include "engine/compaction/blocks_iterator.h"

#include <fmt/format.h>

#include "engine/base/internal_key.h"
#include "engine/table/table_format.h"

namespace varve {

Step BlocksIterator::SeekToFirst() {
  at_ = 0;
  cursor_.Clear();
  if (!blocks_.empty()) {
    cursor_.Reset(PayloadOf(blocks_.front().bytes()));
    cursor_.SeekToFirst();
    Enter();
  }
  return Step::kDone;
}

Step BlocksIterator::Next() {
  cursor_.Next();
  Enter();
  return Step::kDone;
}

// The cursor has moved: to a record, or out of its block.
void BlocksIterator::Enter() {
  while (!cursor_.Valid()) {
    if (cursor_.corrupt()) {
      Fail(Corruption(fmt::format("table {}: a data block is malformed", table_.value)));
      return;
    }
    if (++at_ >= blocks_.size()) {
      return;
    }
    cursor_.Reset(PayloadOf(blocks_[at_].bytes()));
    cursor_.SeekToFirst();
  }
  const std::string_view user_key = UserKeyOf(cursor_.key());
  if (user_key < entries_[at_].smallest || user_key > entries_[at_].largest) {
    Fail(Corruption(
        fmt::format("table {}: a data block holds a key that the index leaves out", table_.value)));
    return;
  }
  const RecordKind kind = KindOf(cursor_.key());
  if (kind == RecordKind::kTombstone) {
    ++tombstones_;
  } else if (kind != RecordKind::kValue) {
    Fail(Unsupported(fmt::format("table {} has a record of kind {}", table_.value, static_cast<int>(kind))));
  }
}

void BlocksIterator::Fail(Error error) {
  cursor_.Clear();
  status_ = std::move(error);
}

}  // namespace varve
