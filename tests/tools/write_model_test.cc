// The model of the write path, on a small store.
#include "tools/write_model/write_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tools/write_model/model_table.h"

namespace varve::write_model {
namespace {

ModelResult ResultOf(bool block, bool append) {
  ModelOptions options;
  options.records = 100'000;
  options.record_bytes = 1000;
  options.device_bytes = 2 * kGiB;
  options.store.memtable_bytes = 128 * kKiB;
  options.store.table_bytes = 128 * kKiB;
  options.store.level1_bytes = 1 * kMiB;
  options.store.techniques.block_merge = block;
  options.store.techniques.append_merge = append;
  return RunWriteModel(options).value();
}

double WastedBytes(const ModelResult& result) {
  double wasted = 0;
  for (const ModelLevel& level : result.levels) {
    wasted += level.wasted_bytes;
  }
  return wasted;
}

TEST(WriteModel, WhatWasPutIsThereOnce) {
  for (const bool technique : {false, true}) {
    const ModelResult result = ResultOf(technique, technique);
    EXPECT_EQ(result.user_bytes, 100'000.0 * 1000);
    // Draws with repetition leave so many keys; a few lie in two levels. Filters and indexes come to a few
    // percent.
    const double live = result.user_bytes * (1 - std::exp(-1));
    EXPECT_GT(result.bytes() - WastedBytes(result), live);
    EXPECT_LT(result.bytes() - WastedBytes(result), live * 1.35);
  }
}

TEST(WriteModel, TechniquesTradeSpaceForWrites) {
  const ModelResult none = ResultOf(false, false);
  EXPECT_EQ(WastedBytes(none), 0);
  for (const auto& [block, append] : {std::pair(true, false), {false, true}, {true, true}}) {
    const ModelResult result = ResultOf(block, append);
    EXPECT_LT(result.written_bytes(), none.written_bytes() * 0.8);
    EXPECT_GT(WastedBytes(result), 0);
    EXPECT_LT(result.bytes(), none.bytes() * 1.25);
  }
}

TEST(WriteModel, EveryLevelTakesWhatTheOneAboveGives) {
  const ModelResult none = ResultOf(false, false);
  // A memtable's worth at the end is in no level yet, and keys that were put twice went in once.
  EXPECT_NEAR(none.levels[0].written_bytes / none.user_bytes, 1.01, 0.02);
  EXPECT_GT(none.levels[1].written_bytes, none.levels[0].written_bytes);
  EXPECT_GT(none.levels[2].written_bytes, none.levels[1].written_bytes);
}

constexpr LevelShape kLargeRecords{.record_bytes = 1000, .table_bytes = kMiB, .block_bytes = 4096};

TEST(WriteModel, OfALargeBlockOnlyTheRecordsThatComeAreWritten) {
  ModelTable table;
  table.keys = {10, 20, 30, 40, 50, 60, 70, 80};
  table.index = {4, 4};
  // Takes the place of 20, and lies between 30 and 40.
  const ModelMend mend = Mend(table, {20, 35}, kLargeRecords);
  EXPECT_EQ(mend.index, (std::vector<uint32_t>{1, 1, 1, 1, 1, 4}));
  EXPECT_EQ(mend.written_bytes, 2000);
  EXPECT_EQ(mend.wasted_bytes, 1000);
  EXPECT_EQ(mend.facts.bytes, 0U);
  EXPECT_EQ(mend.facts.replaced_bytes, 2000U);
  EXPECT_EQ(mend.facts.index_entries, 6U);
}

TEST(WriteModel, BlocksOfSmallRecordsAreWrittenAnew) {
  LevelShape shape = kLargeRecords;
  shape.record_bytes = 400;
  ModelTable table;
  table.keys = {10, 20, 30, 40, 50, 60, 70, 80};
  table.index = {4, 4};
  const ModelMend mend = Mend(table, {20, 35}, shape);
  EXPECT_EQ(mend.index, (std::vector<uint32_t>{5, 4}));
  EXPECT_EQ(mend.written_bytes, 2000);
  EXPECT_EQ(mend.wasted_bytes, 1600);
  EXPECT_EQ(mend.facts.bytes, 1600U);
}

TEST(WriteModel, ADeviceThatIsTooSmallIsRefused) {
  ModelOptions options;
  options.device_bytes = 1 * kMiB;
  EXPECT_TRUE(RunWriteModel(options).Is(ErrorCode::kInvalidArgument));
}

}  // namespace
}  // namespace varve::write_model
