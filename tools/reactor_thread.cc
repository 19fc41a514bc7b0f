#include "tools/reactor_thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

namespace varve {

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
