#include "tools/bench/worker_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
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

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(const std::string& executable,
                                                            const std::vector<std::string>& arguments) {
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess());
  // Both carry one way only; a socket for its input, since a write to one needs no signal to fail.
  std::array<int, 2> input{-1, -1};
  std::array<int, 2> output{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input.data()) != 0 ||
      pipe2(output.data(), O_CLOEXEC) != 0) {
    const int error = errno;
    close(input[0]);
    close(input[1]);
    return DeviceError(fmt::format("cannot talk to a worker: {}", std::strerror(error)));
  }
  worker->input_ = input[0];
  worker->output_ = output[0];
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
  posix_spawn_file_actions_adddup2(&actions, input[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  pid_t pid = -1;
  const int failed = posix_spawn(&pid, executable.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(input[1]);
  close(output[1]);
  if (failed != 0) {
    return DeviceError(fmt::format("cannot start {}: {}", executable, std::strerror(failed)));
  }
  worker->pid_ = pid;
  return worker;
}

WorkerProcess::~WorkerProcess() {
  close(input_);
  close(output_);
  if (!ended()) {
    kill(pid_, SIGKILL);
    Reap();
  }
}

int WorkerProcess::Reap() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

void WorkerProcess::GiveTurn() {
  const char turn = '\n';
  // Of one that has died, its output tells.
  send(input_, &turn, 1, MSG_NOSIGNAL);
}

bool WorkerProcess::ReadMore() {
  std::array<char, 65536> buffer;
  const ssize_t got = read(output_, buffer.data(), buffer.size());
  if (got > 0) {
    pending_.append(buffer.data(), static_cast<size_t>(got));
  }
  return got > 0 || (got < 0 && errno == EINTR);
}

bool WorkerProcess::TakeLine(std::string& line) {
  const size_t end = pending_.find('\n');
  if (end == std::string::npos) {
    return false;
  }
  line = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  return true;
}

Status WorkerProcess::Follow(const EndSignals& signals, const bool& may_be_killed,
                             const std::function<bool(const nlohmann::json&)>& on_message) {
  std::string told;
  while (true) {
    for (std::string line; TakeLine(line);) {
      const nlohmann::json message = nlohmann::json::parse(line, nullptr, false);
      if (message.is_object() && message.contains("error")) {
        told = message["error"].get<std::string>();
      } else if (message.is_object() && !on_message(message)) {
        return OkStatus();
      }
    }
    std::array<pollfd, 2> ready = {pollfd{.fd = output_, .events = POLLIN, .revents = 0},
                                   pollfd{.fd = signals.descriptor(), .events = POLLIN, .revents = 0}};
    if (poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) {
      break;
    }
    if (ready[1].revents != 0) {
      kill(pid_, SIGKILL);
      Reap();
      return Cancelled("interrupted");
    }
    if (ready[0].revents != 0 && !ReadMore()) {
      break;
    }
  }
  return OutcomeOf(Reap(), may_be_killed, told);
}

}  // namespace varve
