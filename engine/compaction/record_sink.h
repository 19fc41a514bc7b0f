// RecordSink: where a merge puts the records that it keeps.
#pragma once

#include <string_view>

#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "engine/table/segment_builder.h"
#include "engine/table/table_writer.h"

namespace varve {

class RecordSink {
 public:
  virtual ~RecordSink() = default;
  // For each record in internal-key order: Cut where NeedsCut says so, then Add, then Drain where WantsDrain
  // says so.
  virtual bool NeedsCut(std::string_view user_key) = 0;
  virtual Task<Status> Cut() = 0;
  // `standing`: of the block that the record comes from.
  virtual void Add(std::string_view internal_key, std::string_view value, CacheStanding standing) = 0;
  virtual bool WantsDrain() const = 0;
  virtual Task<Status> Drain() = 0;
};

// One segment of an existing table. Both must outlive it.
class SegmentSink final : public RecordSink {
 public:
  SegmentSink(SegmentBuilder& segment, TableWriter& writer) : segment_(segment), writer_(writer) {}

  bool NeedsCut(std::string_view) override { return false; }
  Task<Status> Cut() override { co_return OkStatus(); }
  void Add(std::string_view internal_key, std::string_view value, CacheStanding standing) override {
    segment_.Add(internal_key, value, standing);
  }
  bool WantsDrain() const override { return writer_.WantsDrain(); }
  Task<Status> Drain() override { return writer_.Drain(); }

 private:
  SegmentBuilder& segment_;
  TableWriter& writer_;
};

}  // namespace varve
