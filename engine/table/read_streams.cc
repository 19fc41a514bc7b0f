#include "engine/table/read_streams.h"

#include <algorithm>
#include <utility>

namespace varve {

std::shared_ptr<PassingRead> ReadStreams::Find(TableId table, const BlockHandle& block) const {
  const std::lock_guard lock(mutex_);
  for (const Stream& stream : streams_) {
    if (stream.table == table) {
      for (const std::shared_ptr<PassingRead>& read : stream.ahead) {
        if (read->Find(block)) {
          return read;
        }
      }
    }
  }
  return nullptr;
}

ReadStreams::Stream& ReadStreams::StreamOf(TableId table, Range range, Reads& dropped) {
  Stream* oldest = &streams_.front();
  for (Stream& stream : streams_) {
    // A read may end with a block that the next one begins with.
    const uint64_t first = stream.ahead.empty() ? stream.end - std::min(stream.end, kGapBytesMax)
                                                : stream.at - std::min(stream.at, kKeptBehindBytes);
    if (stream.table == table && stream.in_order > 0 && range.begin >= first &&
        range.begin <= stream.end + kGapBytesMax) {
      return stream;
    }
    if (stream.used < oldest->used) {
      oldest = &stream;
    }
  }
  dropped = std::exchange(*oldest, {}).ahead;
  oldest->table = table;
  return *oldest;
}

std::optional<ReadStreams::Range> ReadStreams::Note(TableId table, Range range, uint64_t until,
                                                    uint64_t block_bytes) {
  // Goes after the lock.
  Reads dropped;
  const std::lock_guard lock(mutex_);
  Stream& stream = StreamOf(table, range, dropped);
  stream.used = ++uses_;
  stream.at = std::max(stream.at, range.begin);
  stream.end = std::max(stream.end, range.end);
  if (!range.goes_on || stream.in_order == 0) {
    stream.in_order = std::min(stream.in_order + 1, kInOrder);
  }
  while (!stream.ahead.empty() && stream.ahead.front()->end() + kKeptBehindBytes <= stream.at) {
    dropped.push_back(std::move(stream.ahead.front()));
    stream.ahead.pop_front();
  }
  if (stream.in_order < kInOrder || stream.end >= std::min(range.begin + kDistanceBytes, until)) {
    return std::nullopt;
  }
  const Range next{stream.end - std::min(stream.end, block_bytes), std::min(stream.end + kReadBytes, until),
                   true};
  stream.end = next.end;
  return next;
}

void ReadStreams::TakeBack(TableId table, Range range) {
  const std::lock_guard lock(mutex_);
  for (Stream& stream : streams_) {
    if (stream.table == table && stream.end == range.end) {
      stream.end = std::max(stream.at, range.begin);
      return;
    }
  }
}

bool ReadStreams::DropOldest(TableId table) {
  // Goes after the lock.
  Reads dropped;
  const std::lock_guard lock(mutex_);
  Stream* oldest = nullptr;
  for (Stream& stream : streams_) {
    if (!stream.ahead.empty() && stream.table != table && (oldest == nullptr || stream.used < oldest->used)) {
      oldest = &stream;
    }
  }
  if (oldest == nullptr) {
    return false;
  }
  dropped.swap(oldest->ahead);
  oldest->in_order = 0;
  return true;
}

void ReadStreams::Keep(TableId table, std::shared_ptr<PassingRead> read) {
  const std::lock_guard lock(mutex_);
  for (Stream& stream : streams_) {
    // It ends with a sector.
    if (stream.table == table && stream.at <= read->end() && read->end() <= stream.end + kGapBytesMax) {
      stream.ahead.push_back(std::move(read));
      return;
    }
  }
}

}  // namespace varve
