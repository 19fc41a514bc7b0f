// A phase's figures as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/bench/phase.h"

namespace varve {

namespace {

using nlohmann::json;

double Microseconds(uint64_t nanos) {
  return static_cast<double>(nanos) / 1000;
}

json LatencyJson(const LatencyHistogram& histogram) {
  return {{"count", histogram.count()},
          {"mean", histogram.mean() / 1000},
          {"p50", Microseconds(histogram.Quantile(0.5))},
          {"p90", Microseconds(histogram.Quantile(0.9))},
          {"p99", Microseconds(histogram.Quantile(0.99))},
          {"p99.9", Microseconds(histogram.Quantile(0.999))},
          {"p99.99", Microseconds(histogram.Quantile(0.9999))},
          {"max", Microseconds(histogram.max())}};
}

json BucketsJson(const LatencyHistogram& histogram) {
  json buckets = json::array();
  for (const auto& [upper_nanos, count] : histogram.Buckets()) {
    buckets.push_back({Microseconds(upper_nanos), count});
  }
  return buckets;
}

json SeriesJson(const PhaseFigures& figures) {
  json series = json::array();
  for (const PhaseFigures::Moment& moment : figures.series) {
    json shown = {{"seconds", moment.seconds},
                  {"operations", moment.operations},
                  {"cache_hits", moment.cache.hits},
                  {"cache_misses", moment.cache.misses}};
    if (moment.device.has_value()) {
      shown["device_read_bytes"] = moment.device->read_bytes;
      shown["device_written_bytes"] = moment.device->written_bytes;
    }
    series.push_back(std::move(shown));
  }
  return series;
}

json LevelsJson(const EngineStatistics& engine) {
  json levels = json::array();
  for (const EngineStatistics::Level& level : engine.levels) {
    json shown = {{"level", level.level}, {"bytes", level.bytes}};
    if (level.wasted_bytes.has_value()) {
      shown["wasted_bytes"] = *level.wasted_bytes;
    }
    if (level.entries.has_value()) {
      shown["entries"] = *level.entries;
      shown["tombstones"] = level.tombstones.value_or(0);
    }
    if (level.written_bytes.has_value()) {
      shown["read_bytes"] = level.read_bytes.value_or(0);
      shown["written_bytes"] = *level.written_bytes;
    }
    if (level.filters_asked.has_value()) {
      shown["filters_asked"] = *level.filters_asked;
      shown["filters_misled"] = level.filters_misled.value_or(0);
      shown["filter_expected_rate"] = level.filter_expected_rate.value_or(0);
      shown["filter_bytes"] = level.filter_bytes.value_or(0);
      shown["filter_bits_per_key"] = level.filter_bits_per_key.value_or(0);
    }
    if (level.answered.has_value()) {
      shown["answered"] = *level.answered;
      shown["answered_by_log"] = level.answered_by_log.value_or(0);
      shown["answered_by_buffer"] = level.answered_by_buffer.value_or(0);
      shown["buffer_bytes"] = level.buffer_bytes.value_or(0);
    }
    levels.push_back(std::move(shown));
  }
  return levels;
}

// The least hit ratio over so many seconds in a row, once the cache had the time to fill; null where there is
// no such time.
constexpr double kWindowSeconds = 5;
constexpr double kFillSeconds = 30;
json WorstWindow(const PhaseFigures& figures) {
  json worst;
  size_t begin = 0;
  for (size_t end = 1; end < figures.series.size(); ++end) {
    while (begin + 1 < end &&
           figures.series[end].seconds - figures.series[begin + 1].seconds >= kWindowSeconds) {
      ++begin;
    }
    const PhaseFigures::Moment& from = figures.series[begin];
    const PhaseFigures::Moment& to = figures.series[end];
    const uint64_t hits = to.cache.hits - from.cache.hits;
    const uint64_t asked = hits + to.cache.misses - from.cache.misses;
    if (from.seconds < kFillSeconds || to.seconds - from.seconds < kWindowSeconds || asked == 0) {
      continue;
    }
    const double ratio = static_cast<double>(hits) / static_cast<double>(asked);
    worst = worst.is_null() ? ratio : std::min(worst.get<double>(), ratio);
  }
  return worst;
}

json Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? json() : json(static_cast<double>(part) / static_cast<double>(whole));
}

void AddDevice(json& phase, const PhaseFigures& figures, const DeviceCounters& device) {
  phase["device"] = {{"read_bytes", device.read_bytes},
                     {"written_bytes", device.written_bytes},
                     {"reads", device.reads},
                     {"writes", device.writes}};
  phase["write_amplification"] = Ratio(device.written_bytes, figures.written_user_bytes);
  phase["read_write_amplification"] =
      Ratio(device.read_bytes + device.written_bytes, figures.written_user_bytes);
  phase["read_amplification"] = Ratio(device.read_bytes, figures.read_user_bytes);
  phase["device_reads_per_found"] = Ratio(device.reads, figures.found);
}

}  // namespace

nlohmann::json ToJson(const PhaseFigures& figures) {
  json phase = {
      {"name", figures.name},
      {"seconds", figures.seconds},
      {"operations", figures.operations},
      {"found", figures.found},
      {"operations_per_second",
       figures.seconds == 0 ? 0 : static_cast<double>(figures.operations) / figures.seconds},
      {"user_bytes", figures.written_user_bytes},
      {"user_read_bytes", figures.read_user_bytes},
      {"cache", {{"hits", figures.cache.hits}, {"misses", figures.cache.misses}}},
      {"cache_hit_ratio", Ratio(figures.cache.hits, figures.cache.hits + figures.cache.misses)},
      {"cache_hit_ratio_worst_5s", WorstWindow(figures)},
      {"compactions", figures.engine.compactions},
      {"compacted_tables", figures.engine.compacted_tables},
      {"cpu_seconds", figures.cpu_seconds},
      {"peak_memory_bytes", figures.peak_memory_bytes},
      {"series", SeriesJson(figures)},
      {"levels", LevelsJson(figures.engine)},
  };
  if (figures.device.has_value()) {
    AddDevice(phase, figures, *figures.device);
  }
  if (figures.scanned_entries != 0) {
    phase["scanned_entries"] = figures.scanned_entries;
  }
  if (figures.engine.space_bytes.has_value()) {
    phase["space_bytes"] = *figures.engine.space_bytes;
  }
  if (figures.engine.buffer_bytes.has_value()) {
    phase["buffer_bytes"] = *figures.engine.buffer_bytes;
  }
  if (figures.engine.stall_seconds.has_value()) {
    phase["stall_seconds"] = *figures.engine.stall_seconds;
  }
  if (figures.latency.count() != 0) {
    phase["latency_us"] = LatencyJson(figures.latency);
    phase["latency_histogram"] = BucketsJson(figures.latency);
    for (size_t kind = 0; kind < kOperationKinds; ++kind) {
      const LatencyHistogram& of = figures.latency_by_kind[kind];
      if (of.count() != 0 && of.count() != figures.latency.count()) {
        phase["latency_us_by_kind"][std::string(OperationKindName(static_cast<OperationKind>(kind)))] =
            LatencyJson(of);
      }
    }
  }
  if (figures.writer_latency.count() != 0) {
    phase["writer_latency_us"] = LatencyJson(figures.writer_latency);
  }
  return phase;
}

}  // namespace varve
