#include "tools/bench_mount/interruption.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace varve {

Interruption::Interruption() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  sigprocmask(SIG_BLOCK, &signals, &before_);
  descriptor_ = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

Interruption::~Interruption() {
  // What has come must not end the process now that everything is taken down.
  Requested();
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

bool Interruption::Requested() {
  signalfd_siginfo came{};
  while (descriptor_ >= 0 && read(descriptor_, &came, sizeof(came)) == sizeof(came)) {
    requested_ = true;
  }
  return requested_;
}

}  // namespace varve
