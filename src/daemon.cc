#include "src/daemon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/prctl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>

#include "engine/base/bound_heaps.h"
#include "tools/child_process.h"

namespace varve {

namespace {

// Writes to a pipe that nobody reads must fail, not kill; the others are read from a descriptor.
Result<int> TakeOverSignals() {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const int descriptor = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor < 0) {
    return DeviceError(fmt::format("signalfd: {}", std::strerror(errno)));
  }
  return descriptor;
}

// A filesystem's daemon must not wait for memory that only writing through itself would free, nor be the
// first to be killed when memory is short. Both need root; without it the mount works all the same.
void ProtectProcess() {
  // It was started through /proc/self/exe, and would be listed as "exe".
  prctl(PR_SET_NAME, "varve", 0, 0, 0);
  prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
  // -1000 would exempt it even where it is itself what ate the memory.
  constexpr std::string_view kScoreAdjustment = "-900";
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file >= 0) {
    [[maybe_unused]] const ssize_t written = write(file, kScoreAdjustment.data(), kScoreAdjustment.size());
    close(file);
  }
}

// Answers signals by unmounting through a helper process: the reactors must go on serving meanwhile, since
// the kernel writes dirty pages back and sends DESTROY.
class Unmounter {
 public:
  Unmounter(MountedStore& mounted, std::string directory, Logger& logger)
      : mounted_(mounted), directory_(std::move(directory)), logger_(logger) {}

  // -1 while there is none.
  int helper_descriptor() const { return helper_.has_value() ? helper_->descriptor() : -1; }

  void OnSignal() {
    if (helper_.has_value()) {
      return;  // it is being tried
    }
    if (was_busy_) {
      const Status flushed = mounted_.Flush();
      logger_.Log(LogLevel::kWarning,
                  fmt::format("detaching {} lazily; flush: {}", directory_, flushed.ToString()));
    }
    Result<ChildProcess> helper = ChildProcess::Start(
        was_busy_ ? std::vector<std::string>{"varve", "umount", "--no-wait", "--lazy", directory_}
                  : std::vector<std::string>{"varve", "umount", "--no-wait", directory_});
    if (helper.ok()) {
      helper_ = std::move(*helper);
    } else {
      logger_.Log(LogLevel::kError, helper.ToString());
    }
  }

  void OnHelperEnded() {
    const int exit_code = helper_->Wait();
    helper_.reset();
    if (exit_code != 0) {
      was_busy_ = true;
      logger_.Log(
          LogLevel::kWarning,
          fmt::format(
              "{} is in use and stays mounted (fuser -vm {} says by whom); a second signal detaches it",
              directory_, directory_));
    }
  }

 private:
  MountedStore& mounted_;
  std::string directory_;
  Logger& logger_;
  std::optional<ChildProcess> helper_;
  bool was_busy_ = false;
};

void ServeUntilEnded(MountedStore& mounted, Unmounter& unmounter, int signals) {
  for (;;) {
    pollfd watched[] = {{mounted.ended_descriptor(), POLLIN, 0},
                        {signals, POLLIN, 0},
                        {unmounter.helper_descriptor(), POLLIN, 0}};
    if (poll(watched, 3, -1) < 0 && errno != EINTR) {
      return;
    }
    if (watched[0].revents != 0) {
      return;
    }
    if (watched[2].revents != 0) {
      unmounter.OnHelperEnded();
    }
    signalfd_siginfo info;
    if (watched[1].revents != 0 && read(signals, &info, sizeof(info)) == sizeof(info)) {
      unmounter.OnSignal();
    }
  }
}

}  // namespace

int RunDaemon(const MountRequest& request, Logger& logger, const std::function<void(const Status&)>& tell) {
  const Result<int> signals = TakeOverSignals();
  if (!signals.ok()) {
    tell(signals.status());
    return 1;
  }
  ProtectProcess();
  BoundHeaps();
  const SystemClock clock;
  MountedStore mounted(request, clock, logger);
  const Status started = mounted.Start();
  tell(started);
  if (!started.ok()) {
    return 1;
  }
  Unmounter unmounter(mounted, request.directory, logger);
  ServeUntilEnded(mounted, unmounter, *signals);
  const Status finished = mounted.Finish();
  if (!finished.ok()) {
    logger.Log(LogLevel::kError, fmt::format("closing {}: {}", request.device, finished.ToString()));
    return 1;
  }
  logger.Log(LogLevel::kInfo, fmt::format("unmounted {}", request.directory));
  return 0;
}

}  // namespace varve
