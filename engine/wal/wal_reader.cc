#include "engine/wal/wal_reader.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/base/check.h"

namespace varve {

namespace {

// Holds the largest group, and lets a log of small groups be read and written again in large pieces.
constexpr uint64_t kWindowBytes = 4 * kMiB;
static_assert(kWindowBytes >= kWalGroupBytesMax);

}  // namespace

WalReader::WalReader(BlockDevice& device, WalReaderOptions options)
    : device_(device), options_(std::move(options)), sector_bytes_(device.sector_bytes()) {
  next_lsn_ = std::max(options_.log_start, Lsn(1));
  if (!options_.segments.empty()) {
    next_lsn_ = std::max(next_lsn_, options_.segments.front().epoch_first_lsn);
    // A recovery gets the first segment of its epoch once all that it builds upon is durable.
    proven_lsn_ = Lsn(std::max(options_.segments.back().epoch_first_lsn, Lsn(1)).value - 1);
  }
  first_lsn_ = next_lsn_;
  place_ = {0, sector_bytes_};
  end_.last_sequence = options_.tables_sequence;
  for (const WalSegment& segment : options_.segments) {
    end_.segments.push_back({segment, Lsn(0), SequenceNumber(0)});
  }
}

Task<Result<std::optional<WalGroup>>> WalReader::Next() {
  if (!failure_.ok()) {
    co_return failure_.error();
  }
  if (ended_) {
    co_return std::optional<WalGroup>();
  }
  Result<std::optional<WalGroup>> found = co_await Find();
  if (!found.ok() && options_.end_at_damage) {
    end_.damage = found.error().message();
    found = std::optional<WalGroup>();
  }
  if (!found.ok()) {
    failure_ = found.error();
  } else if (!found.value()) {
    End();
  }
  co_return found;
}

const WalEnd& WalReader::end() const {
  Check(ended_, "the end of a log that was not read to its end");
  return end_;
}

Task<Result<std::optional<WalGroup>>> WalReader::Find() {
  const std::vector<WalSegment>& segments = options_.segments;
  if (segments.empty()) {
    co_return std::optional<WalGroup>();
  }
  size_t newer = NewerEpochBehind(place_.segment);
  while (newer < segments.size() && next_lsn_ >= segments[newer].epoch_first_lsn) {
    place_ = {newer, sector_bytes_};
    next_sequence_.reset();
    newer = NewerEpochBehind(newer);
  }

  Result<std::optional<WalGroup>> here = co_await GroupAt(place_, next_lsn_);
  if (!here.ok() && !options_.end_at_damage) {
    co_return here;
  }
  if (here.ok() && here.value()) {
    co_return Accept(*here.value(), place_.segment);
  }
  const size_t next_segment = place_.segment + 1;
  if (next_segment < segments.size() && segments[next_segment].epoch == segments[place_.segment].epoch) {
    const Place front{next_segment, sector_bytes_};
    Result<std::optional<WalGroup>> there = co_await GroupAt(front, next_lsn_);
    if (!there.ok()) {
      co_return there;
    }
    if (there.value()) {
      co_return Accept(*there.value(), next_segment);
    }
  }

  if (!here.ok()) {
    // What cannot be read was no unused end of a segment.
    co_return here;
  }
  if (newer < segments.size()) {
    co_return Missing(fmt::format("epoch {} began at {}", segments[newer].epoch.value,
                                  segments[newer].epoch_first_lsn.value));
  }
  Result<Lsn> flushed = co_await FlushedLsnBeyond(place_);
  if (!flushed.ok()) {
    co_return flushed.error();
  }
  if (flushed.value() >= next_lsn_) {
    co_return Missing(fmt::format("a later group knew {} to be durable", flushed.value().value));
  }
  co_return std::optional<WalGroup>();
}

Task<Result<std::optional<WalGroup>>> WalReader::GroupAt(Place place, Lsn lsn) {
  const WalSegment& segment = options_.segments[place.segment];
  const uint64_t seed = WalSegmentSeed(options_.store_uuid, segment.number);
  Result<std::optional<std::string_view>> sector = co_await Load(place, sector_bytes_);
  if (!sector.ok()) {
    co_return sector.error();
  }
  if (!sector.value()) {
    co_return std::optional<WalGroup>();
  }
  const std::optional<WalGroupHeader> header = WalGroupHeader::Decode(*sector.value(), seed, place.position);
  if (!header || header->epoch != segment.epoch || header->lsn != lsn) {
    co_return std::optional<WalGroup>();
  }
  Result<std::optional<std::string_view>> whole =
      co_await Load(place, header->bytes_on_device(sector_bytes_));
  if (!whole.ok()) {
    co_return whole.error();
  }
  if (!whole.value()) {
    co_return std::optional<WalGroup>();
  }
  const std::string_view records = whole.value()->substr(WalGroupHeader::kBytes, header->payload_bytes);
  if (WalPayloadChecksum(records, seed, place.position) != header->payload_checksum) {
    co_return std::optional<WalGroup>();
  }
  co_return std::optional<WalGroup>({*header, records, segment, place.position});
}

Result<std::optional<WalGroup>> WalReader::Accept(const WalGroup& group, size_t segment) {
  const SequenceNumber first = group.header.first_sequence;
  // The numbers are dense but for records that tables hold: a log begins behind some, an epoch behind what
  // its predecessor lost of them, and a writer drops groups that tables have overtaken.
  const SequenceNumber least = next_sequence_.value_or(SequenceNumber(0));
  const SequenceNumber most = std::max(least, end_.last_sequence.Next());
  if (first < least || first > most) {
    return Corruption(fmt::format("group {} of the log begins with sequence number {} instead of {}",
                                  group.header.lsn.value, first.value, most.value));
  }
  Remember(group, {segment, group.position});
  const SequenceNumber last = group.header.last_sequence();
  next_sequence_ = last.Next();
  next_lsn_ = group.header.lsn.Next();
  place_ = {segment, group.position + group.header.bytes_on_device(sector_bytes_)};
  end_.last_sequence = std::max(end_.last_sequence, last);
  end_.segments[segment].last_lsn = group.header.lsn;
  end_.segments[segment].last_sequence = last;
  return std::optional<WalGroup>(group);
}

void WalReader::Remember(const WalGroup& group, Place place) {
  proven_lsn_ = std::max(proven_lsn_, group.header.flushed_lsn);
  while (!unproven_.empty() && unproven_.front().last_lsn <= proven_lsn_) {
    unproven_.pop_front();
  }
  if (group.header.lsn <= proven_lsn_) {
    return;
  }
  const uint64_t bytes = group.header.bytes_on_device(sector_bytes_);
  const bool joins = !unproven_.empty() && unproven_.back().place.segment == place.segment &&
                     unproven_.back().place.position + unproven_.back().bytes == place.position &&
                     unproven_.back().bytes + bytes <= kWindowBytes;
  if (!joins) {
    unproven_.push_back({.place = place, .bytes = 0, .first_lsn = group.header.lsn, .last_lsn = {}});
  }
  unproven_.back().bytes += bytes;
  unproven_.back().last_lsn = group.header.lsn;
}

Task<Status> WalReader::WriteAgain() {
  Check(ended_, "a log was written again before it was read to its end");
  for (const Run& run : unproven_) {
    Status written = co_await WriteAgain(run);
    if (!written.ok()) {
      co_return written;
    }
  }
  co_return OkStatus();
}

Task<Status> WalReader::WriteAgain(const Run& run) {
  const WalSegment& segment = options_.segments[run.place.segment];
  const Result<std::optional<std::string_view>> loaded = co_await Load(run.place, run.bytes);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  // All of them are in the window now: what is looked at is what is written.
  Place from = run.place;
  Place to = run.place;
  for (Lsn lsn = run.first_lsn; lsn <= run.last_lsn; lsn = lsn.Next()) {
    const Result<std::optional<WalGroup>> group = co_await GroupAt(to, lsn);
    if (!group.ok()) {
      co_return group.error();
    }
    if (!group->has_value()) {
      co_return Corruption(
          fmt::format("group {} of the log was there (segment {}, byte {}), and is not any more", lsn.value,
                      segment.number, to.position));
    }
    to.position += (*group)->header.bytes_on_device(sector_bytes_);
    if (lsn <= proven_lsn_) {
      from = to;
    }
  }
  if (from.position == sector_bytes_) {
    Status written = co_await WriteSegmentHeader(segment, run.first_lsn);
    if (!written.ok()) {
      co_return written;
    }
  }
  const std::span<const std::byte> bytes =
      window_.span().subspan(from.position - window_place_.position, to.position - from.position);
  co_return co_await device_.Write(segment.extent.offset() + from.position, bytes, options_.purpose);
}

// Made anew, not read: recovery does not need it, and must not fail where it is damaged.
Task<Status> WalReader::WriteSegmentHeader(const WalSegment& segment, Lsn first_lsn) {
  AlignedBuffer buffer = AlignedBuffer::Zeroed(sector_bytes_, sector_bytes_);
  WalSegmentHeader::Of(segment, options_.store_uuid, first_lsn, sector_bytes_).Encode(buffer.chars());
  co_return co_await device_.Write(segment.extent.offset(), buffer.span(), options_.purpose);
}

Error WalReader::Missing(std::string_view proof) const {
  return Corruption(
      fmt::format("group {} of the log is missing or damaged (segment {}, byte {}), although {}",
                  next_lsn_.value, options_.segments[place_.segment].number, place_.position, proof));
}

Task<Result<Lsn>> WalReader::FlushedLsnBeyond(Place place) {
  const RecoveryEpoch epoch = options_.segments[place.segment].epoch;
  Lsn flushed;
  while (place.segment < options_.segments.size() && options_.segments[place.segment].epoch == epoch) {
    const uint64_t seed = WalSegmentSeed(options_.store_uuid, options_.segments[place.segment].number);
    Result<std::optional<std::string_view>> sector = co_await Load(place, sector_bytes_);
    if (!sector.ok()) {
      co_return sector.error();
    }
    if (!sector.value()) {
      place = {place.segment + 1, sector_bytes_};
      continue;
    }
    // And all that was read with it.
    const uint64_t window_end = window_place_.position + window_bytes_;
    for (; place.position + sector_bytes_ <= window_end; place.position += sector_bytes_) {
      const std::string_view bytes =
          window_.view().substr(place.position - window_place_.position, sector_bytes_);
      const std::optional<WalGroupHeader> header = WalGroupHeader::Decode(bytes, seed, place.position);
      if (header && header->epoch == epoch) {
        flushed = std::max(flushed, header->flushed_lsn);
      }
    }
  }
  co_return flushed;
}

Task<Result<std::optional<std::string_view>>> WalReader::Load(Place place, uint64_t bytes) {
  const Extent& extent = options_.segments[place.segment].extent;
  if (place.position > extent.bytes() || bytes > extent.bytes() - place.position) {
    co_return std::optional<std::string_view>();
  }
  const bool in_window = window_bytes_ > 0 && window_place_.segment == place.segment &&
                         window_place_.position <= place.position &&
                         place.position + bytes <= window_place_.position + window_bytes_;
  if (!in_window) {
    if (window_.empty()) {
      window_ = AlignedBuffer(kWindowBytes);
    }
    window_bytes_ = 0;
    uint64_t wanted = std::min(kWindowBytes, extent.bytes() - place.position);
    const DeviceOffset from = extent.offset() + place.position;
    Status status = co_await device_.Read(from, window_.span().first(wanted), options_.purpose);
    if (!status.ok() && options_.end_at_damage) {
      // Groups before a place that cannot be read are not lost with it.
      wanted = RoundUp(bytes, sector_bytes_);
      status = co_await device_.Read(from, window_.span().first(wanted), options_.purpose);
    }
    if (!status.ok()) {
      co_return status.error();
    }
    window_place_ = place;
    window_bytes_ = wanted;
  }
  const size_t at = place.position - window_place_.position;
  co_return std::optional<std::string_view>(window_.view().substr(at, bytes));
}

size_t WalReader::NewerEpochBehind(size_t segment) const {
  const std::vector<WalSegment>& segments = options_.segments;
  size_t newer = segment + 1;
  while (newer < segments.size() && segments[newer].epoch <= segments[segment].epoch) {
    newer++;
  }
  return newer;
}

// A segment without groups ends where the one before it did: it goes when that goes.
void WalReader::End() {
  ended_ = true;
  end_.next_lsn = next_lsn_;
  WalClosedSegment before{{}, Lsn(first_lsn_.value - 1), SequenceNumber(0)};
  for (WalClosedSegment& closed : end_.segments) {
    if (closed.last_lsn.value == 0) {
      closed.last_lsn = before.last_lsn;
      closed.last_sequence = before.last_sequence;
    }
    before = closed;
  }
}

}  // namespace varve
