// Scrubber: the scrub of a mounted store, on a thread of its own that gives way to everybody else.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "engine/base/clock.h"
#include "engine/base/logger.h"
#include "engine/device/block_device.h"
#include "engine/ring/async_event.h"
#include "engine/ring/task.h"
#include "engine/store/store.h"
#include "tools/reactor_thread.h"
#include "tools/scrub_report.h"

namespace varve {

// Any thread, unless it says otherwise.
class Scrubber {
 public:
  // Both must outlive it.
  Scrubber(const Clock& clock, Logger& logger) : clock_(clock), logger_(logger) {}
  // Nothing may be running: after Finish.
  ~Scrubber() = default;

  // Starts a scrub unless one is running. Both must live until Finish has ended.
  void Start(Store& store, const BlockDevice& device);
  // Asks the running one to end.
  void Stop() { stopping_.store(true); }
  // Stops what runs and starts nothing more. Ends when nothing runs. Only by a coroutine of an executor.
  Task<void> Finish();

  ScrubReport report() const;

 private:
  class Observer;

  Task<void> Run(Store& store, const BlockDevice& device);
  Task<Status> Scrub(Store& store, const BlockDevice& device);
  Status StartThreadLocked();

  const Clock& clock_;
  Logger& logger_;
  std::atomic<bool> stopping_{false};
  AsyncEvent idle_{true};
  mutable std::mutex mutex_;  // for the rest; held for a copy at most, and while the thread starts
  ScrubReport report_;
  bool finished_ = false;
  std::unique_ptr<ReactorThread> thread_;
};

}  // namespace varve
