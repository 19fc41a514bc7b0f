#include "tools/reactor_thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace varve {

namespace {

// ioprio_set(2), for which there is no header in C++: the kernel's IOPRIO_WHO_PROCESS, and IOPRIO_CLASS_BE
// with the last of its eight levels.
constexpr int kThisThread = 1;
constexpr int kLowestBestEffort = 2 << 13 | 7;

}  // namespace

Result<std::unique_ptr<ReactorThread>> ReactorThread::Start(Options options, const Clock& clock) {
  std::unique_ptr<ReactorThread> started(new ReactorThread());
  std::promise<Status> told;
  std::future<Status> ready = told.get_future();
  ReactorThread& self = *started;
  started->thread_ = std::thread([&self, &told, &clock, options = std::move(options)] {
    pthread_setname_np(pthread_self(), options.name.c_str());
    if (options.cpu >= 0) {
      cpu_set_t only;
      CPU_ZERO(&only);
      CPU_SET(static_cast<size_t>(options.cpu), &only);
      // A CPU that has gone offline meanwhile only costs speed.
      pthread_setaffinity_np(pthread_self(), sizeof(only), &only);
    }
    // On Linux a nice value belongs to a thread. Without the right to change it, none is changed.
    if (options.nice != 0) {
      setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), options.nice);
    }
    if (options.low_io) {
      syscall(SYS_ioprio_set, kThisThread, 0, kLowestBestEffort);
    }
    Result<std::unique_ptr<Reactor>> made = Reactor::Create(options.reactor, clock);
    if (!made.ok()) {
      told.set_value(made.error());
      return;
    }
    self.reactor_ = std::move(*made);
    told.set_value(OkStatus());
    self.reactor_->Run();
    self.reactor_.reset();
  });
  Status status = ready.get();
  if (!status.ok()) {
    return status.error();
  }
  return started;
}

ReactorThread::~ReactorThread() {
  if (thread_.joinable()) {
    if (reactor_ != nullptr) {
      reactor_->Stop();
    }
    thread_.join();
  }
}

}  // namespace varve
