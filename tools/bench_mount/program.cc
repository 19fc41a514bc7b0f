#include "tools/bench_mount/program.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace varve {

namespace {

constexpr size_t kTailBytes = 800;
constexpr int kExecFailed = 127;
// An ordinary user's PATH lacks the last two, where mkfs and losetup are.
constexpr char kAdministrationFolders[] = ":/usr/sbin:/sbin";
// What a program gets to put its things in order after SIGTERM.
constexpr int kTerminationMs = 10'000;

std::string SearchPath() {
  const char* const path = std::getenv("PATH");
  return (path == nullptr ? std::string("/usr/bin:/bin") : std::string(path)) + kAdministrationFolders;
}

std::optional<std::string> FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return access(name.c_str(), X_OK) == 0 ? std::optional(name) : std::nullopt;
  }
  std::istringstream folders(SearchPath());
  std::string folder;
  while (std::getline(folders, folder, ':')) {
    std::string path = folder + "/" + name;
    if (access(path.c_str(), X_OK) == 0) {
      return path;
    }
  }
  return std::nullopt;
}

// In the child, between fork and exec: only what is safe there (signal-safety(7)).
[[noreturn]] void BecomeProgram(const char* path, char* const* argv, int log) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  execv(path, argv);
  _exit(kExecFailed);
}

}  // namespace

bool ProgramExists(const std::string& name) {
  return FindProgram(name).has_value();
}

Result<Program> Program::Start(const std::vector<std::string>& arguments, const std::string& log) {
  const std::optional<std::string> path = FindProgram(arguments.front());
  if (!path.has_value()) {
    return NotFound(fmt::format("there is no program {}", arguments.front()));
  }
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (output < 0) {
    return DeviceError(fmt::format("{}: {}", log, std::strerror(errno)));
  }
  const pid_t pid = fork();
  if (pid == 0) {
    BecomeProgram(path->c_str(), argv.data(), output);
  }
  const int failure = errno;
  close(output);
  if (pid < 0) {
    return DeviceError(fmt::format("cannot start {}: {}", arguments.front(), std::strerror(failure)));
  }
  return Program(pid, static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

Program::~Program() {
  if (pid_ > 0) {
    Signal(SIGTERM);
    if (!Wait(kTerminationMs, nullptr).has_value()) {
      Signal(SIGKILL);
      (void)Wait(-1, nullptr);
    }
  }
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

std::optional<Program::End> Program::Wait(int timeout_ms, Interruption* interruption) {
  pollfd waited[2] = {{descriptor_, POLLIN, 0},
                      {interruption == nullptr ? -1 : interruption->descriptor(), POLLIN, 0}};
  while (poll(waited, 2, timeout_ms) < 0 && errno == EINTR) {
  }
  if ((waited[0].revents & POLLIN) == 0) {
    return std::nullopt;
  }
  int status = 0;
  rusage usage{};
  while (wait4(pid_, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  End end;
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  end.usage.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  end.usage.peak_memory_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  return end;
}

void Program::Signal(int number) const {
  if (pid_ > 0) {
    kill(pid_, number);
  }
}

Status RunProgram(const std::vector<std::string>& arguments, const std::string& log,
                  Interruption* interruption) {
  Result<Program> program = Program::Start(arguments, log);
  if (!program.ok()) {
    return program.error();
  }
  const std::optional<Program::End> end = program->Wait(-1, interruption);
  if (!end.has_value()) {
    return Cancelled("interrupted");
  }
  if (end->exit_code != 0) {
    return DeviceError(
        fmt::format("{} ended with exit code {}: {}", arguments.front(), end->exit_code, TailOf(log)));
  }
  return OkStatus();
}

std::string TailOf(const std::string& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  return text.size() <= kTailBytes ? text : "… " + text.substr(text.size() - kTailBytes);
}

}  // namespace varve
