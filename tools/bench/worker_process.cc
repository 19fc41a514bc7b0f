#include "tools/bench/worker_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

namespace varve {

namespace {

constexpr std::string_view kWorkerName = "varve-bench-worker";

sigset_t EndingSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    sigaddset(&set, signal);
  }
  return set;
}

struct Worker {
  pid_t pid = -1;
  int output = -1;
};

Result<Worker> Start(const std::string& executable, const std::vector<std::string>& arguments) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) {
    return DeviceError(fmt::format("pipe: {}", std::strerror(errno)));
  }
  std::vector<char*> argv = {const_cast<char*>(kWorkerName.data())};
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  Worker worker;
  const int failed =
      posix_spawn(&worker.pid, executable.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(pipe_ends[1]);
  if (failed != 0) {
    close(pipe_ends[0]);
    return DeviceError(fmt::format("cannot start {}: {}", executable, std::strerror(failed)));
  }
  worker.output = pipe_ends[0];
  return worker;
}

// Hands on complete lines; false at the end of the output.
bool ReadLines(int from, std::string& pending, const std::function<void(const std::string&)>& on_line) {
  std::array<char, 65536> buffer;
  const ssize_t got = read(from, buffer.data(), buffer.size());
  if (got <= 0) {
    return got < 0 && errno == EINTR;
  }
  pending.append(buffer.data(), static_cast<size_t>(got));
  for (size_t end = pending.find('\n'); end != std::string::npos; end = pending.find('\n')) {
    on_line(pending.substr(0, end));
    pending.erase(0, end + 1);
  }
  return true;
}

Status OutcomeOf(int wait_status, bool may_be_killed, const std::string& told) {
  if (!told.empty()) {
    return DeviceError(told);
  }
  if (WIFSIGNALED(wait_status)) {
    if (may_be_killed && WTERMSIG(wait_status) == SIGKILL) {
      return OkStatus();
    }
    return DeviceError(fmt::format("its process died: {}", strsignal(WTERMSIG(wait_status))));
  }
  if (WEXITSTATUS(wait_status) != 0) {
    return DeviceError(fmt::format("its process ended with {}", WEXITSTATUS(wait_status)));
  }
  return OkStatus();
}

}  // namespace

EndSignals::EndSignals() {
  const sigset_t set = EndingSignals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  descriptor_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

EndSignals::~EndSignals() {
  const sigset_t set = EndingSignals();
  close(descriptor_);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

bool EndSignals::Came() const {
  pollfd came = {.fd = descriptor_, .events = POLLIN, .revents = 0};
  return poll(&came, 1, 0) == 1;
}

Result<std::string> FindWorkerExecutable() {
  std::array<char, PATH_MAX> self{};
  const ssize_t length = readlink("/proc/self/exe", self.data(), self.size());
  if (length <= 0) {
    return Unsupported("cannot tell where this program lies: /proc/self/exe");
  }
  const std::string_view path(self.data(), static_cast<size_t>(length));
  std::string worker = fmt::format("{}/{}", path.substr(0, path.rfind('/')), kWorkerName);
  if (access(worker.c_str(), X_OK) != 0) {
    return Unsupported(fmt::format("there is no {}: build and install all of varve", worker));
  }
  return worker;
}

Status RunWorkerProcess(const std::string& executable, const std::vector<std::string>& arguments,
                        const EndSignals& signals, const bool& may_be_killed,
                        const std::function<void(const nlohmann::json&)>& on_message) {
  const Result<Worker> worker = Start(executable, arguments);
  if (!worker.ok()) {
    return worker.error();
  }
  std::string pending;
  std::string told;
  const auto on_line = [&](const std::string& line) {
    const nlohmann::json message = nlohmann::json::parse(line, nullptr, false);
    if (message.is_object() && message.contains("error")) {
      told = message["error"].get<std::string>();
    } else if (message.is_object()) {
      on_message(message);
    }
  };
  bool cancelled = false;
  while (true) {
    std::array<pollfd, 2> ready = {pollfd{.fd = worker->output, .events = POLLIN, .revents = 0},
                                   pollfd{.fd = signals.descriptor(), .events = POLLIN, .revents = 0}};
    if (poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) {
      break;
    }
    if (ready[1].revents != 0) {
      cancelled = true;
      kill(worker->pid, SIGKILL);
      break;
    }
    if (ready[0].revents != 0 && !ReadLines(worker->output, pending, on_line)) {
      break;
    }
  }
  close(worker->output);
  int status = 0;
  while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR) {
  }
  return cancelled ? Status(Cancelled("interrupted")) : OutcomeOf(status, may_be_killed, told);
}

}  // namespace varve
