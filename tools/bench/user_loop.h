// UserLoop: one user who does the operations of a workload one after the other and times each.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/clock.h"
#include "engine/base/prng.h"
#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "tools/bench/bench_options.h"
#include "tools/bench/engine.h"
#include "tools/bench/generators.h"
#include "tools/bench/latency_histogram.h"
#include "tools/bench/records.h"
#include "tools/bench/workload.h"

namespace varve {

enum class OperationKind : uint8_t { kRead, kWrite, kScan, kReadModifyWrite };
inline constexpr size_t kOperationKinds = 4;
std::string_view OperationKindName(OperationKind kind);

// What the loops of a phase share. Any thread.
struct PhaseShared {
  // Records that exist: numbers below it. Inserts take the next one.
  std::atomic<uint64_t>& records;
  // Set by the first error, or when the phase is to end early.
  std::atomic<bool> stop{false};
};

// What the loops of one thread share. Counters are written by that thread and may be read by others.
struct ThreadShared {
  // Operations that nobody has begun; UINT64_MAX where time alone ends the phase.
  uint64_t remaining = 0;
  uint64_t end_nanos = UINT64_MAX;
  std::atomic<uint64_t> done{0};
  std::atomic<uint64_t> written_user_bytes{0};

  uint64_t found = 0;
  uint64_t read_user_bytes = 0;
  uint64_t scanned_entries = 0;
  std::array<LatencyHistogram, kOperationKinds> latency;
};

class UserLoop {
 public:
  // `values` is one for all loops of a thread: it is large. `nanos_between` is the pause from one operation's
  // due time to the next one's, 0 for none. What is referred to must outlive the loop. Made, run and
  // destroyed on the session's thread.
  UserLoop(const Workload& workload, const RunOptions& options, Session& session, const Clock& clock,
           PhaseShared& phase, ThreadShared& thread, ValueSource& values, uint64_t seed,
           uint64_t nanos_between);

  // Until operations, time or the phase end; the error that ended it.
  Task<Status> Run();

 private:
  bool Ended(uint64_t now) const;
  OperationKind ChooseKind();
  double ReadShare() const;
  double DeletesAmongWrites() const;
  uint64_t ChooseRecord();
  // Sets key_ to the record of an update or an insert.
  void ChooseWrittenKey();
  Task<Status> Do(OperationKind kind);
  std::optional<Status> TryRead();
  std::optional<Status> TryWrite();
  Task<Status> Write();
  Task<Status> Scan();
  Status Count(const Result<ReadOutcome>& outcome);
  void CountWritten(size_t value_bytes);

  const Workload& workload_;
  const RunOptions& options_;
  Session& session_;
  const Clock& clock_;
  PhaseShared& phase_;
  ThreadShared& thread_;
  const uint64_t nanos_between_;
  Prng random_;
  std::unique_ptr<NumberGenerator> numbers_;
  ValueSource& values_;
  std::string key_;
  std::string_view value_;
  bool deletes_ = false;
};

}  // namespace varve
