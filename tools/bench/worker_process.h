// A worker as its parent sees it: a process that prints messages (tools/bench/worker.h).
#pragma once

#include <functional>
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

// Runs the worker with these arguments (without argv[0]) to its end and gives each of its messages to
// `on_message`. Success when it ended well; kCancelled when a signal came: it is killed then. Errors that it
// tells are kDeviceError with its words; so is its death, unless `may_be_killed` and SIGKILL ended it.
Status RunWorkerProcess(const std::string& executable, const std::vector<std::string>& arguments,
                        const EndSignals& signals, const bool& may_be_killed,
                        const std::function<void(const nlohmann::json&)>& on_message);

}  // namespace varve
