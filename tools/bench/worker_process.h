// A worker as its parent sees it: a process that prints messages (tools/bench/worker.h).
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/base/result.h"

namespace varve {

// Signals that end the bench (SIGINT, SIGTERM, SIGHUP), taken as something to read: from construction on they
// wait until they are asked for, so that devices and mounts are taken down in order.
class EndSignals {
 public:
  EndSignals();
  ~EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  // Becomes readable when one has come.
  int descriptor() const { return descriptor_; }
  bool Came() const;

 private:
  int descriptor_;
};

// The worker's executable: beside this program's. Error kUnsupported when it is not there.
Result<std::string> FindWorkerExecutable();

// One worker's process. One thread.
class WorkerProcess {
 public:
  // `arguments` are those behind argv[0]. Error kDeviceError: it cannot be started.
  static Result<std::unique_ptr<WorkerProcess>> Start(const std::string& executable,
                                                      const std::vector<std::string>& arguments);
  // Kills it, unless it has ended.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Lets a worker that was told to wait for its turns (WorkerOptions::in_turns) take the next one.
  void GiveTurn();
  // Gives each of its messages to `on_message`, until that answers false or the worker has ended. Success
  // when it goes on or ended well; kCancelled when a signal came: it is killed then. Errors that it tells are
  // kDeviceError with its words; so is its death, unless `may_be_killed` and SIGKILL ended it.
  Status Follow(const EndSignals& signals, const bool& may_be_killed,
                const std::function<bool(const nlohmann::json&)>& on_message);
  bool ended() const { return pid_ < 0; }

 private:
  WorkerProcess() = default;
  // Its wait status.
  int Reap();
  // Reads what it has told; false at the end of that.
  bool ReadMore();
  // A complete line of that; false: there is none.
  bool TakeLine(std::string& line);

  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  // Read, but not yet given to anybody.
  std::string pending_;
};

}  // namespace varve
