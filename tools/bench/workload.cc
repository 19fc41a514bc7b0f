#include "tools/bench/workload.h"

namespace varve {

namespace {

// YCSB's core workloads: workloads/workload[a-f] of its distribution.
std::vector<Workload> YcsbWorkloads() {
  constexpr auto kScrambled = Distribution::kScrambledZipfian;
  return {
      {.name = "ycsb-a",
       .description = "half reads, half updates, Zipfian",
       .read = 0.5,
       .update = 0.5,
       .distribution = kScrambled},
      {.name = "ycsb-b",
       .description = "95% reads, 5% updates, Zipfian",
       .read = 0.95,
       .update = 0.05,
       .distribution = kScrambled},
      {.name = "ycsb-c", .description = "reads, Zipfian", .read = 1, .distribution = kScrambled},
      {.name = "ycsb-d",
       .description = "95% reads of the latest, 5% inserts",
       .read = 0.95,
       .insert = 0.05,
       .distribution = Distribution::kLatest},
      {.name = "ycsb-e",
       .description = "95% scans of 1 to 100 entries, 5% inserts, Zipfian",
       .insert = 0.05,
       .scan = 0.95,
       .distribution = kScrambled,
       .scan_entries = 100,
       .scan_entries_drawn = true},
      {.name = "ycsb-f",
       .description = "half reads, half reads followed by a write of the same key, Zipfian",
       .read = 0.5,
       .read_modify_write = 0.5,
       .distribution = kScrambled},
  };
}

std::vector<Workload> MakeWorkloads() {
  std::vector<Workload> all = {
      {.name = "fillseq",
       .description = "put every record once, in the order of keys",
       .insert = 1,
       .order = KeyOrder::kSequential,
       .fills = true},
      {.name = "fillrandom",
       .description = "put records drawn uniformly, with repetition, as db_bench does",
       .update = 1,
       .distribution = Distribution::kUniform,
       .fills = true},
      {.name = "overwrite", .description = "the same, as --distribution asks", .update = 1, .fills = true},
      {.name = "readrandom", .description = "get records drawn as --distribution asks", .read = 1},
      {.name = "readmissing",
       .description = "get keys that lie between the records'",
       .read = 1,
       .missing = true},
      {.name = "readhot",
       .description = "98% of the gets go to 15% of the records, in one piece",
       .read = 1,
       .distribution = Distribution::kHotRange},
      {.name = "readwrite",
       .description = "half gets, half puts of records drawn as --distribution asks",
       .read = 0.5,
       .update = 0.5},
      {.name = "readwritedelete",
       .description = "--deletes percent deletes, the rest half gets and half puts, as --distribution asks",
       .read = 0.5,
       .update = 0.5,
       .deletes_of_all = true},
      {.name = "seekrandom", .description = "seek and read one entry", .scan = 1},
      {.name = "scan", .description = "seek and read --scan-length entries", .scan = 1, .scan_entries = 0},
  };
  for (Workload& ycsb : YcsbWorkloads()) {
    all.push_back(ycsb);
  }
  const std::vector<Workload> others = {
      {.name = "update-latest",
       .description = "put records, the latest most often",
       .update = 1,
       .distribution = Distribution::kLatest},
      {.name = "update-zipf",
       .description = "put records, scattered popular ones most often",
       .update = 1,
       .distribution = Distribution::kScrambledZipfian},
      {.name = "rangehot",
       .description = "readhot, while another thread puts records at --write-rate",
       .read = 1,
       .distribution = Distribution::kHotRange,
       .with_writer = true},
      {.name = "readwhilewriting",
       .description = "readrandom, with the same writer beside it",
       .read = 1,
       .with_writer = true},
      {.name = "scanwhilewriting",
       .description = "scan, with the same writer beside it",
       .scan = 1,
       .scan_entries = 0,
       .with_writer = true},
      {.name = "settle",
       .description = "write the memtable out and wait until no merge is due",
       .kind = PhaseKind::kSettle},
      {.name = "reopen", .description = "close, and open again", .kind = PhaseKind::kReopen},
      {.name = "crash",
       .description = "fill half a memtable, be killed, and open again with that log",
       .kind = PhaseKind::kCrash},
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace

const std::vector<Workload>& AllWorkloads() {
  static const std::vector<Workload> all = MakeWorkloads();
  return all;
}

const Workload* FindWorkload(std::string_view name) {
  for (const Workload& workload : AllWorkloads()) {
    if (workload.name == name) {
      return &workload;
    }
  }
  return nullptr;
}

}  // namespace varve
