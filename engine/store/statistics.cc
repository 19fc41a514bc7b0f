// StatisticsJson: what the store and the rooms below it count, as one JSON object.

#include "engine/store/statistics.h"

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

#include "engine/store/store_impl.h"
#include "engine/table/filter.h"

namespace varve {

namespace {

// Writes "name":value pairs and objects, and the commas between them.
class JsonWriter {
 public:
  void Begin(std::string_view name = {}) {
    Name(name);
    text_ += '{';
    first_ = true;
  }
  void End() {
    text_ += '}';
    first_ = false;
  }
  void BeginList(std::string_view name) {
    Name(name);
    text_ += '[';
    first_ = true;
  }
  void EndList() {
    text_ += ']';
    first_ = false;
  }
  void Number(std::string_view name, uint64_t value) {
    Name(name);
    fmt::format_to(std::back_inserter(text_), "{}", value);
  }
  void Real(std::string_view name, double value) {
    Name(name);
    fmt::format_to(std::back_inserter(text_), "{:.6g}", value);
  }
  void Text(std::string_view name, std::string_view value) {
    Name(name);
    text_ += JsonString(value);
  }
  void Latency(std::string_view name, const Histogram& histogram) {
    Name(name);
    text_ += HistogramJson(histogram);
  }

  std::string Take() { return std::move(text_); }

 private:
  void Name(std::string_view name) {
    if (!first_) {
      text_ += ',';
    }
    first_ = false;
    if (!name.empty()) {
      text_ += JsonString(name);
      text_ += ':';
    }
  }

  std::string text_;
  bool first_ = true;
};

std::string_view KindName(CompactionKind kind) {
  switch (kind) {
    case CompactionKind::kFlush:
      return "flush";
    case CompactionKind::kMerge:
      return "merge";
    case CompactionKind::kTrivialMove:
      return "trivial_move";
    case CompactionKind::kPseudoCompaction:
      return "pseudo_compaction";
    case CompactionKind::kAggregatedCompaction:
      return "aggregated_compaction";
  }
  return "unknown";
}

double Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

void WriteDevice(JsonWriter& json, const IoCounters& counters, uint64_t user_bytes) {
  json.Begin("device");
  uint64_t written = 0;
  for (size_t i = 0; i < kIoPurposes; i++) {
    const IoCounters::OfPurpose& of = counters.by_purpose[i];
    json.Begin(IoPurposeName(static_cast<IoPurpose>(i)));
    json.Number("reads", of.reads);
    json.Number("read_bytes", of.read_bytes);
    json.Number("writes", of.writes);
    json.Number("written_bytes", of.written_bytes);
    json.Number("flushes", of.flushes);
    json.End();
    written += of.written_bytes;
  }
  json.Number("discards", counters.discards);
  json.Number("discarded_bytes", counters.discarded_bytes);
  json.Number("written_bytes", written);
  json.Real("write_amplification", Ratio(written, user_bytes));
  json.End();
}

// Of false positives, over the level's segments, by their entries; 0 when it holds none.
double ExpectedFilterRate(const Version& version, uint32_t level) {
  double rates = 0;
  uint64_t entries = 0;
  version.ForEachTableOf(level, [&](const LiveTable& table) {
    for (const SegmentDescriptor& segment : table.view().segments) {
      rates += ExpectedFalsePositiveRate(segment.filter) * static_cast<double>(segment.entries);
      entries += segment.entries;
    }
  });
  return entries == 0 ? 0 : rates / static_cast<double>(entries);
}

// What one segment a table and no dead block would leave out.
struct Waste {
  uint64_t segments = 0;
  uint64_t wasted_bytes = 0;
};
Waste WasteOf(const Version& version, uint32_t level) {
  Waste waste;
  version.ForEachTableOf(level, [&](const LiveTable& table) {
    waste.segments += table.view().segments.size();
    waste.wasted_bytes += table.view().wasted_bytes();
  });
  return waste;
}

void WriteLevels(JsonWriter& json, const Version& version, const TreeConfig& config, const LevelSlack& slack,
                 const StoreStatistics& statistics) {
  json.BeginList("levels");
  for (uint32_t level = 0; level <= version.last_level(); level++) {
    const TableTotals totals = version.totals(level);
    json.Begin();
    json.Number("level", level);
    json.Number("tables", totals.tables);
    json.Number("valid_bytes", totals.valid_bytes);
    json.Number("total_bytes", totals.total_bytes);
    const Waste waste = WasteOf(version, level);
    json.Number("segments", waste.segments);
    json.Number("wasted_bytes", waste.wasted_bytes);
    json.Real("space_amplification", Ratio(totals.total_bytes, totals.valid_bytes));
    json.Number("entries", totals.entries);
    json.Number("tombstones", totals.tombstones);
    json.Real("score", LevelScore(version, config, slack, level));
    json.Real("delete_score", DeleteScore(version, config.deletes, config.level_ratio, level));
    json.Real("slack", slack[level]);
    json.Number("log_tables", level == 0 ? 0 : version.level(level).log.size());
    json.Number("log_bytes", level == 0 ? 0 : version.level(level).log_totals.valid_bytes);
    json.Number("log_capacity_bytes", LogCapacityBytes(version, LogConfigOf(config), level));
    json.Number("log_depth", level == 0 ? 0 : version.level(level).log_index.depth());
    json.Number("read_bytes", statistics.by_level[level].read_bytes);
    json.Number("written_bytes", statistics.by_level[level].written_bytes);
    json.Real("filter_bits_per_key", totals.filter_capacity == 0
                                         ? 0
                                         : totals.filter_bits / static_cast<double>(totals.filter_capacity));
    json.Number("filter_bytes", static_cast<uint64_t>(totals.filter_bits / 8));
    json.Real("filter_expected_rate", ExpectedFilterRate(version, level));
    json.Number("filters_asked", statistics.hot.Sum(&HotCounters::Line::filters_asked, level));
    json.Number("filters_misled", statistics.hot.Sum(&HotCounters::Line::filters_misled, level));
    json.Number("answered", statistics.hot.Sum(&HotCounters::Line::answered, level));
    json.Number("answered_by_log", statistics.hot.Sum(&HotCounters::Line::answered_by_log, level));
    json.Number("answered_by_buffer", statistics.hot.Sum(&HotCounters::Line::answered_by_buffer, level));
    const Buffer no_buffer;
    const Buffer& buffer = level == 0 ? no_buffer : version.level(level).buffer;
    json.Number("buffer_views", buffer.views().size());
    json.Number("buffer_bytes", buffer.total_bytes());
    json.Number("buffer_tables_asked", statistics.hot.Sum(&HotCounters::Line::buffered_asked, level));
    json.End();
  }
  json.EndList();
}

void WriteCache(JsonWriter& json, const CacheStatistics& cache) {
  static constexpr std::string_view kNames[kBlockKinds] = {"data", "index", "filter", "footer", "written"};
  json.Begin("cache");
  json.Number("capacity_bytes", cache.capacity_bytes);
  json.Number("charged_bytes", cache.charged_bytes);
  json.Number("held_bytes", cache.held_bytes);
  json.Number("entries", cache.entries);
  json.Number("hits", cache.hits());
  json.Number("misses", cache.misses());
  json.Real("hit_ratio", Ratio(cache.hits(), cache.hits() + cache.misses()));
  for (size_t i = 0; i < kBlockKinds; i++) {
    const CacheStatistics::OfKind& of = cache.by_kind[i];
    json.Begin(kNames[i]);
    json.Number("hits", of.hits);
    json.Number("misses", of.misses);
    json.Number("inserts", of.inserts);
    json.Number("evictions", of.evictions);
    json.Number("charged_bytes", of.charged_bytes);
    json.End();
  }
  json.End();
}

void WriteSpace(JsonWriter& json, const SpaceNumbers& space) {
  json.Begin("space");
  json.Number("total_bytes", space.total_bytes);
  json.Number("used_bytes", space.used_bytes);
  json.Number("released_bytes", space.released_bytes);
  json.Number("free_bytes", space.free_bytes);
  json.Number("reserved_bytes", space.reserved_bytes);
  json.Number("internal_share_bytes", space.internal_share_bytes);
  json.Number("user_available_bytes", space.user_available_bytes);
  json.End();
}

void WriteLog(JsonWriter& json, const WalWriter::Statistics& log) {
  json.Begin("wal");
  json.Number("groups", log.groups);
  json.Number("records", log.records);
  json.Number("payload_bytes", log.payload_bytes);
  json.Number("device_bytes", log.device_bytes);
  json.Number("durable_writes", log.durable_writes);
  json.Number("flushes", log.flushes);
  json.Number("segments", log.segments);
  json.End();
}

void WriteCompactions(JsonWriter& json, const Version& version, const StoreStatistics& statistics) {
  json.Begin("compactions");
  for (size_t i = 0; i < kCompactionKinds; i++) {
    const StoreStatistics::OfKind& of = statistics.by_kind[i];
    json.Begin(KindName(static_cast<CompactionKind>(i)));
    json.Number("jobs", of.jobs);
    json.Number("failed", of.failed);
    json.Number("tables", of.tables);
    json.Number("read_bytes", of.read_bytes);
    json.Number("written_bytes", of.written_bytes);
    json.Number("nanos", of.nanos);
    json.End();
  }
  json.End();
  json.Begin("merges_for_deletes");
  json.Number("jobs", statistics.for_deletes.jobs);
  json.Number("tables", statistics.for_deletes.tables);
  json.Number("read_bytes", statistics.for_deletes.read_bytes);
  json.Number("written_bytes", statistics.for_deletes.written_bytes);
  json.Number("purged_records", statistics.purged_records);
  json.Number("tombstones_removed_early", statistics.tombstones_removed_early);
  json.End();
  json.Begin("range_deletes");
  json.Number("written", statistics.hot.Sum(&HotCounters::Line::range_deletes));
  json.Number("in_force", version.range_tombstones() == nullptr ? 0 : version.range_tombstones()->size());
  json.Number("retired", statistics.range_tombstones_retired);
  json.Number("hidden_records_dropped", statistics.hidden_by_ranges);
  json.End();
  json.Begin("merged_children");
  for (size_t i = 0; i < kChildMerges; i++) {
    json.Number(ChildMergeName(static_cast<ChildMerge>(i)), statistics.children_by[i]);
  }
  json.End();
}

void WriteAdaptation(JsonWriter& json, const DeleteAdaptation& adaptation, const TreeConfig& tree,
                     uint64_t reserved_bytes) {
  json.Begin("delete_adaptation");
  json.Number("windows", adaptation.windows());
  json.Number("changes", adaptation.changes());
  json.Number("level0_tables", std::max(tree.level0_tables_trigger, tree.level0_tables_max));
  json.Real("reclaim_min", tree.deletes.reclaim_min);
  json.Real("level1_share_max", tree.deletes.share_max);
  json.Real("dense_share", tree.deletes.dense_share);
  json.Number("cache_reserved_bytes", reserved_bytes);
  const Mix& mix = adaptation.last_mix();
  json.Begin("last_window");
  json.Number("flushes", mix.flushes);
  json.Number("flushed_bytes", mix.flushed_bytes);
  json.Number("puts", mix.puts);
  json.Number("deletes", mix.deletes);
  json.Number("gets", mix.gets);
  json.Number("vain_gets", mix.vain_gets);
  json.Number("scans", mix.scans);
  json.Number("scanned_bytes", mix.scanned_bytes);
  json.Number("vain_bytes", mix.vain_bytes);
  json.End();
  json.End();
}

void WriteHotMap(JsonWriter& json, const HotMap& map) {
  const HotMap::Statistics statistics = map.statistics();
  json.Begin("hot_map");
  json.Number("bytes", map.bytes());
  json.BeginList("layers");
  for (const HotMap::LayerStatistics& layer : statistics.layers) {
    json.Begin();
    json.Number("keys", layer.keys);
    json.Number("capacity", layer.capacity);
    json.End();
  }
  json.EndList();
  json.Number("layers_grown", statistics.grown);
  json.Number("layers_full", statistics.full);
  json.Number("layers_alike", statistics.alike);
  json.End();
}

void WriteOperations(JsonWriter& json, const StoreStatistics& statistics) {
  using Line = HotCounters::Line;
  json.Begin("operations");
  json.Number("gets", statistics.hot.Sum(&Line::gets));
  json.Number("gets_found", statistics.hot.Sum(&Line::gets_found));
  json.Number("gets_from_device", statistics.hot.Sum(&Line::gets_from_device));
  json.Number("batches", statistics.hot.Sum(&Line::batches));
  json.Number("records", statistics.hot.Sum(&Line::records));
  json.Number("user_bytes", statistics.hot.Sum(&Line::user_bytes));
  json.Number("iterators", statistics.iterators);
  json.Number("snapshots", statistics.snapshots);
  json.End();
  json.Begin("latency_nanos");
  json.Latency("get_from_memory", statistics.get_from_memory);
  json.Latency("get_from_device", statistics.get_from_device);
  json.Latency("write", statistics.write);
  json.Latency("write_waited", statistics.write_waited);
  json.Latency("sync", statistics.sync);
  json.End();
  json.Begin("stalls");
  json.Number("throttled", statistics.throttled);
  json.Number("throttled_nanos", statistics.throttled_nanos);
  json.Number("stopped", statistics.stopped);
  json.Number("stopped_nanos", statistics.stopped_nanos);
  json.Number("refused_no_space", statistics.refused_no_space);
  json.End();
}

}  // namespace

std::string HistogramJson(const Histogram& histogram) {
  return fmt::format(
      R"({{"count":{},"mean":{:.0f},"p50":{},"p90":{},"p99":{},"p999":{},"p9999":{},"max":{}}})",
      histogram.count(), histogram.mean(), histogram.Quantile(0.5), histogram.Quantile(0.9),
      histogram.Quantile(0.99), histogram.Quantile(0.999), histogram.Quantile(0.9999), histogram.max());
}

std::string JsonString(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      quoted += c;
    }
  }
  quoted += '"';
  return quoted;
}

std::string StoreImpl::StatisticsJson() const {
  const std::shared_ptr<const Version> version = versions_->current();
  const uint64_t user_bytes = statistics_.hot.Sum(&HotCounters::Line::user_bytes);
  const TreeConfig tree = scheduler_ != nullptr ? scheduler_->tree_config() : shape_.tree;
  JsonWriter json;
  json.Begin();
  json.Text("read_only_reason", health_.reason());
  WriteOperations(json, statistics_);
  WriteDevice(json, environment_.device.counters(), user_bytes);
  WriteCompactions(json, *version, statistics_);
  const LevelSlack slack = SlackOfLevels(*version, tree);
  WriteLevels(json, *version, tree, slack, statistics_);
  json.Begin("compaction_buffer");
  json.Number("bytes", version->buffer_bytes());
  json.Number("buffered_views", statistics_.buffered_views);
  json.Number("trimmed_views", statistics_.trimmed_views);
  json.Number("unread_merges", statistics_.unread_merges);
  json.End();
  WriteCache(json, cache_.statistics());
  WriteSpace(json, allocator_->numbers());
  const Memtables::Fill fill = memtables_->fill();
  json.Begin("memtables");
  json.Number("capacity_bytes", shape_.memtable_bytes);
  json.Number("memory_bytes", fill.memory_bytes);
  json.Number("immutable", fill.immutables);
  json.End();
  if (wal_ != nullptr) {
    WriteLog(json, wal_->statistics());
    json.Number("running_jobs", scheduler_->running_jobs());
    json.Number("compaction_debt_bytes", CompactionDebtBytes(*version, tree, slack));
  }
  if (scheduler_ != nullptr && tree.deletes.enabled()) {
    WriteAdaptation(json, *scheduler_->adaptation(), tree, scheduler_->reserved_bytes());
  }
  if (hot_map_ != nullptr) {
    WriteHotMap(json, *hot_map_);
  }
  json.Number("snapshots_held", snapshots_.count());
  json.End();
  return json.Take();
}

}  // namespace varve
