#include "tests/sim/world.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "engine/version/edit_invariants.h"
#include "engine/version/invariants.h"

namespace varve::sim {

namespace {

// More than any run that ends takes.
constexpr uint64_t kResumedMax = 200'000'000;

const World* running = nullptr;

// Enough to see what led to a failure, unless the environment asks for more.
size_t TraceLines() {
  const char* const lines = std::getenv("VARVE_SIM_TRACE");
  return lines == nullptr ? 300 : std::strtoull(lines, nullptr, 10);
}

void OnAbort(int) {
  // Not safe in a signal handler in general; here the process ends, and what it says is worth the risk.
  if (running != nullptr) {
    fmt::print(stderr, "{}seed {}: the process was aborted after this\n", running->trace.Tail(),
               running->seed);
    std::fflush(stderr);
  }
}

}  // namespace

Figures& Figures::operator+=(const Figures& other) {
  crashes += other.crashes;
  operations += other.operations;
  versions += other.versions;
  errors += other.errors;
  lies += other.lies;
  noticed += other.noticed;
  refused += other.refused;
  buffered += other.buffered;
  buffer_answers += other.buffer_answers;
  settled += other.settled;
  ranges += other.ranges;
  ranges_retired += other.ranges_retired;
  return *this;
}

World::World(uint64_t seed_of_all, uint64_t device_bytes, uint32_t sector_bytes)
    : seed(seed_of_all),
      random(seed_of_all),
      trace(clock, TraceLines()),
      device({.size_bytes = device_bytes, .sector_bytes = sector_bytes, .seed = seed_of_all ^ 0xde71ce},
             trace),
      executor(
          clock, [this](uint64_t due_nanos) { clock.AdvanceTo(due_nanos); },
          [this](size_t ready) { return ChooseNext(ready); }),
      order_(seed_of_all ^ 0x0bde2),
      shuffles_one_in_(1 + order_.Below(3) * order_.Below(10)) {
  running = this;
}

World::~World() {
  running = nullptr;
}

void World::OnError(std::string_view doing, const Status& status) {
  ++figures.noticed;
  trace.Add("{}: {}", doing, status.ToString());
  if (!device.disturbed()) {
    trace.Fail("{}: {}", doing, status.ToString());
  }
}

size_t World::ChooseNext(size_t ready) {
  if (++resumed_ == kResumedMax) {
    Check(false, "a simulation does not end");
  }
  return ready > 1 && order_.OneIn(shuffles_one_in_) ? order_.Below(ready) : 0;
}

void World::OnInstalled(const std::shared_ptr<const Version>& version, const VersionEdit& edit) {
  ++figures.versions;
  // The first edit after an open begins an epoch; what was before it is not known here.
  if (version_ != nullptr && !edit.epoch) {
    for (const std::string& violation : CheckEdit(*version_, edit)) {
      trace.Fail("edit: {}", violation);
    }
  }
  version_ = version;
  figures.ranges += edit.added_range_tombstones.size();
  figures.ranges_retired += edit.removed_range_tombstones.size();
  figures.buffered += version->buffer_bytes() > 0 ? 1 : 0;
  for (const std::string& violation : CheckVersion(*version)) {
    trace.Fail("version: {}", violation);
  }
}

void World::Log(LogLevel /*level*/, std::string_view message) {
  trace.Add("log: {}", message);
}

Outcome World::Finish() {
  figures.errors = device.errors();
  figures.lies = device.lies();
  return {.seed = seed,
          .failure = trace.failure(),
          .trace = trace.Tail(),
          .trace_lines = trace.lines(),
          .trace_digest = trace.digest(),
          .figures = figures};
}

void PrintTraceOnAbort() {
  std::signal(SIGABRT, OnAbort);
}

}  // namespace varve::sim
