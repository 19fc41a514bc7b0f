#include "tools/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

extern char** environ;

namespace varve {

namespace {

// Names this very program even after an upgrade replaced its file.
constexpr char kThisProgram[] = "/proc/self/exe";

Result<pid_t> Spawned(std::vector<char*>& argv, const ChildProcess::Options& options) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (options.new_session) {
    flags = static_cast<short>(flags | POSIX_SPAWN_SETSID);
  }
  sigset_t none;
  sigemptyset(&none);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, flags);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (options.inherit >= 0) {
    // Onto itself: clears close-on-exec (POSIX, posix_spawn_file_actions_adddup2).
    posix_spawn_file_actions_adddup2(&actions, options.inherit, options.inherit);
  }
  pid_t pid = -1;
  const int error = posix_spawn(&pid, kThisProgram, &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return DeviceError(fmt::format("cannot start {}: {}", kThisProgram, std::strerror(error)));
  }
  return pid;
}

}  // namespace

Result<ChildProcess> ChildProcess::Start(const std::vector<std::string>& arguments) {
  return Start(arguments, Options());
}

Result<ChildProcess> ChildProcess::Start(const std::vector<std::string>& arguments, Options options) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  const Result<pid_t> pid = Spawned(argv, options);
  if (!pid.ok()) {
    return pid.error();
  }
  const auto descriptor = static_cast<int>(syscall(SYS_pidfd_open, *pid, 0));
  return ChildProcess(*pid, descriptor);
}

ChildProcess::~ChildProcess() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

int ChildProcess::Wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0) {
    if (errno != EINTR) {
      return 1;
    }
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace varve
