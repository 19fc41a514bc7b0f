// InternalIterator: an ordered walk over internal keys (engine/base/internal_key.h), whatever holds them: one
// table, many merged, or a room's own source behind an adapter.
//
// Made by one executor and used by one coroutine at a time; must be destroyed on that executor. Each move
// either completes at once or answers Step::kNeedsIo; then `co_await Load()` completes it, and nothing else
// may be called between the two. key() and value() are valid until the next move. After an error Valid() is
// false and status() says why; a Seek starts afresh. Internal keys are unique among everything that is ever
// merged: no two writes share a sequence number.
#pragma once

#include <optional>
#include <string_view>

#include "engine/base/result.h"
#include "engine/base/step.h"
#include "engine/cache/cache_standing.h"
#include "engine/ring/task.h"

namespace varve {

class InternalIterator {
 public:
  InternalIterator() = default;
  InternalIterator(const InternalIterator&) = delete;
  InternalIterator& operator=(const InternalIterator&) = delete;
  virtual ~InternalIterator() = default;

  // To the first key at or after `internal_key`. The bytes need to live only until the call returns.
  [[nodiscard]] virtual Step Seek(std::string_view internal_key) = 0;
  // To the last key at or before `internal_key`.
  [[nodiscard]] virtual Step SeekForPrev(std::string_view internal_key) = 0;
  [[nodiscard]] virtual Step SeekToFirst() = 0;
  [[nodiscard]] virtual Step SeekToLast() = 0;
  // Precondition of the next two: Valid(). Past either end the iterator is not Valid(), and its status is ok.
  [[nodiscard]] virtual Step Next() = 0;
  [[nodiscard]] virtual Step Prev() = 0;
  // Completes the move that answered kNeedsIo.
  virtual Task<void> Load() = 0;

  // Who walks on may do so on the one source that has all that comes next, without the layers in between: it
  // stands where this stands, and has every key whose user key lies before `until`, which this makes smaller
  // where others have some from there on (nullopt: there is no end; valid until TakeBack or a seek).
  // Forward only. Precondition: Valid().
  virtual InternalIterator& Foremost(std::optional<std::string_view>& /*until*/) { return *this; }
  // The source has moved, and so has this: called before anything else of this but a seek.
  virtual void TakeBack() {}

  virtual bool Valid() const = 0;
  // Precondition of the next two: Valid().
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
  virtual Status status() const = 0;
  // How the block that holds the record stands in the cache, where the walk takes notice of it
  // (TableIteratorOptions); kAbsent elsewhere. Precondition: Valid().
  virtual CacheStanding standing() const { return CacheStanding::kAbsent; }
};

}  // namespace varve
