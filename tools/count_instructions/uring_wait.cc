// For LD_PRELOAD under valgrind, which (3.19) lets no other thread run while one waits in io_uring_enter: a
// thread that waits for another's message would wait for ever. This waits by asking again after a short
// sleep, in which others run.
#include <cerrno>
#include <chrono>
#include <thread>

struct io_uring;
struct io_uring_cqe;
struct __kernel_timespec;

// Of liburing (io_uring_submit_and_get_events(3) and its neighbours).
extern "C" int io_uring_submit_and_get_events(io_uring* ring);
extern "C" int io_uring_get_events(io_uring* ring);
extern "C" unsigned io_uring_peek_batch_cqe(io_uring* ring, io_uring_cqe** cqes, unsigned count);

// Takes the place of liburing's. `timeout`: two 64-bit numbers, seconds and nanoseconds, as in
// linux/time_types.h; null for ever. The signal mask is not used by varve.
extern "C" int io_uring_submit_and_wait_timeout(io_uring* ring, io_uring_cqe** cqe, unsigned wanted,
                                                __kernel_timespec* timeout, void* /*signals*/) {
  using std::chrono::steady_clock;
  constexpr std::chrono::microseconds kPause{50};
  const auto* const parts = reinterpret_cast<const long long*>(timeout);
  const auto begin = steady_clock::now();
  const int submitted = io_uring_submit_and_get_events(ring);
  while (submitted >= 0 && io_uring_peek_batch_cqe(ring, cqe, 1) < wanted) {
    if (parts != nullptr &&
        steady_clock::now() - begin >= std::chrono::seconds(parts[0]) + std::chrono::nanoseconds(parts[1])) {
      return -ETIME;
    }
    std::this_thread::sleep_for(kPause);
    io_uring_get_events(ring);
  }
  return submitted;
}
