#include "engine/ring/reactor.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <liburing.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "engine/base/check.h"

namespace varve {

namespace {

// Between two looks at the ring: bounds how long a completion waits for posted work, also where that is
// background work, of which each slice takes about as long as the second.
constexpr size_t kResumedInARow = 64;
constexpr uint64_t kResumedNanos = 100'000;
constexpr unsigned kCompletionsInARow = 64;
// With so many requests in the kernel the next answer is near: new ones wait for the call that fetches it,
// but not longer than this.
constexpr uint64_t kInFlightToGather = 4;
constexpr uint64_t kGatherNanos = 3'000;

std::string WhyNoRing(int error) {
  switch (error) {
    case ENOSYS:
      return "this kernel has no io_uring";
    case EPERM:
    case EACCES:
      return "io_uring is forbidden here (see the sysctl kernel.io_uring_disabled, or a container's seccomp "
             "filter)";
    case ENOMEM:
      return "not enough locked memory is allowed (see ulimit -l)";
    case EMFILE:
      return "too many open files (see ulimit -n)";
    default:
      return strerror(error);
  }
}

// What nudges are told to, on either side. Whose completion this is was not prepared where it completes.
class NudgeSeen final : public Completion {
  void OnComplete(int32_t, uint32_t) override {}
};
NudgeSeen nudge_seen;

void RequireEntered(int result) {
  const bool passing =
      result >= 0 || result == -ETIME || result == -EINTR || result == -EBUSY || result == -EAGAIN;
  if (!passing) {
    Check(false, fmt::format("io_uring_enter: {}", strerror(-result)));
  }
}

}  // namespace

// Ends the sleep of a reactor: an eventfd that the ring reads.
class Reactor::WakeUp final : public Completion {
 public:
  explicit WakeUp(int fd) : fd_(fd) {}
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;
  ~WakeUp() { close(fd_); }

  void Arm(Reactor& reactor) {
    if (!armed_) {
      io_uring_prep_read(reactor.Prepare(this), fd_, &count_, sizeof(count_), 0);
      armed_ = true;
    }
  }
  // Any thread.
  void Ring() {
    const uint64_t one = 1;
    ssize_t written;
    do {
      written = write(fd_, &one, sizeof(one));
    } while (written < 0 && errno == EINTR);
    Check(written == sizeof(one), "an eventfd refused a write");
    // Releases: after it this thread touches nothing of the reactor.
    rung_.fetch_add(1, std::memory_order_release);
  }
  uint64_t rung() const { return rung_.load(std::memory_order_acquire); }

 private:
  void OnComplete(int32_t, uint32_t) override { armed_ = false; }

  const int fd_;
  bool armed_ = false;
  uint64_t count_ = 0;
  std::atomic<uint64_t> rung_{0};
};

void IoAwaiter::await_suspend(std::coroutine_handle<> self) {
  waiter_ = self;
  io_uring_sqe* sqe = reactor_.Prepare(this);
  io_uring_prep_rw(request_.opcode, sqe, request_.fd, request_.address, request_.length, request_.offset);
  sqe->rw_flags = static_cast<int>(request_.operation_flags);
  sqe->addr3 = request_.address3;
}

void IoAwaiter::OnComplete(int32_t result, uint32_t) {
  result_ = result;
  waiter_.resume();
}

Reactor::Reactor(const ReactorOptions& options, const Clock& clock)
    : options_(options), clock_(clock), ring_(std::make_unique<io_uring>()) {
}

Result<std::unique_ptr<Reactor>> Reactor::Create(const ReactorOptions& options, const Clock& clock) {
  std::unique_ptr<Reactor> reactor(new Reactor(options, clock));
  Status opened = reactor->Open();
  if (!opened.ok()) {
    return opened.error();
  }
  return reactor;
}

Status Reactor::Open() {
  // The ring begins disabled, so that the thread that runs it, not the one that creates it, becomes its one
  // issuer.
  const unsigned base = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP | IORING_SETUP_R_DISABLED |
                        (options_.wide_entries ? IORING_SETUP_SQE128 : 0);
  // Best first: completions are handled when this thread asks for them, without interrupting it (6.1);
  // without interrupting it by signals (5.19); as they come.
  const std::array<unsigned, 3> flag_sets{
      base | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
          IORING_SETUP_TASKRUN_FLAG,
      base | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, base};
  int error = 0;
  for (const unsigned flags : flag_sets) {
    io_uring_params params{};
    params.flags = flags;
    params.cq_entries = options_.completion_entries;
    error = -io_uring_queue_init_params(options_.entries, ring_.get(), &params);
    if (error == 0 && (params.features & IORING_FEAT_EXT_ARG) == 0) {
      io_uring_queue_exit(ring_.get());
      return DeviceError("io_uring: this kernel is too old; 5.11 or later is needed");
    }
    if (error != EINVAL) {
      break;
    }
  }
  if (error != 0) {
    return DeviceError("io_uring: " + WhyNoRing(error));
  }
  ring_is_open_ = true;
  const int event_fd = eventfd(0, EFD_CLOEXEC);
  if (event_fd < 0) {
    return DeviceError("io_uring: eventfd: " + WhyNoRing(errno));
  }
  wake_up_ = std::make_unique<WakeUp>(event_fd);
  return OkStatus();
}

Reactor::~Reactor() {
  if (wake_up_ != nullptr) {
    mailbox_.TakeAll(ready_);
    while (wake_up_->rung() < mailbox_.wake_ups_owed() + stops_.load(std::memory_order_acquire)) {
      sched_yield();
    }
  }
  if (ring_is_open_) {
    io_uring_queue_exit(ring_.get());
  }
}

void Reactor::EnableRing() {
  if (!ring_is_enabled_) {
    // liburing 2.3 declares io_uring_enable_rings but does not export it.
    const long result =
        syscall(SYS_io_uring_register, ring_->ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
    Check(result == 0, "io_uring could not be enabled");
    ring_is_enabled_ = true;
  }
}

void Reactor::BeginRun() {
  Check(Executor::CurrentOrNull() == nullptr, "an executor was run inside another one");
  EnableRing();
  SetCurrent(this);
}

void Reactor::EndRun() {
  if (io_uring_sq_ready(ring_.get()) > 0) {
    Submit();
  }
  SetCurrent(nullptr);
}

void Reactor::Run() {
  BeginRun();
  while (!stop_.exchange(false, std::memory_order_acquire)) {
    Turn();
  }
  EndRun();
}

void Reactor::RunUntil(const bool& done) {
  BeginRun();
  while (!done) {
    Turn();
  }
  EndRun();
}

void Reactor::Stop() {
  stops_.fetch_add(1, std::memory_order_relaxed);
  stop_.store(true, std::memory_order_release);
  Wake();
}

void Reactor::Wake() {
  wake_up_->Ring();
}

void Reactor::Post(PostedWork& work) {
  if (Executor::CurrentOrNull() == this) {
    ready_.Append(work);
  } else if (mailbox_.Push(work)) {
    Wake();
  }
}

void Reactor::PostAfter(uint64_t nanos, PostedWork& work) {
  timers_.Add(clock_.MonotonicNanos() + nanos, work);
}

void Reactor::Turn() {
  mailbox_.TakeAll(ready_);
  if (!timers_.empty()) {
    timers_.MoveDue(clock_.MonotonicNanos(), ready_);
  }
  if (ready_.empty() && !HasCompletions()) {
    WaitForWork();
    return;
  }
  const uint64_t begin = clock_.MonotonicNanos();
  ResumeReady(begin);
  const bool more_work = !ready_.empty();
  if (more_work && (io_uring_sq_ready(ring_.get()) > 0 || KernelWantsIn())) {
    ++counters_.enters;
    io_uring_submit_and_get_events(ring_.get());
  }
  if (HasCompletions()) {
    HandleCompletions();
  }
  turns_.Add(clock_.MonotonicNanos() - begin);
}

bool Reactor::HasCompletions() const {
  return io_uring_cq_ready(ring_.get()) > 0 || !stashed_.empty();
}

void Reactor::ResumeReady(uint64_t begin) {
  // What is posted from here on waits for the next turn: who yields lets completions go first.
  const PostedWork* const last = ready_.empty() ? nullptr : &ready_.last();
  for (size_t i = 0; i < kResumedInARow && !ready_.empty(); ++i) {
    PostedWork& work = ready_.TakeFirst();
    const bool was_last = &work == last;
    ++counters_.resumed;
    work.coroutine.resume();
    if (was_last || clock_.MonotonicNanos() - begin >= kResumedNanos) {
      return;
    }
  }
}

void Reactor::HandleCompletions() {
  // Copied off the ring first: a callback may have to make room in it (StashCompletions).
  StashCompletions();
  // By index, and copied: a callback may stash more.
  for (size_t i = 0; i < stashed_.size(); ++i) {
    const Completed completed = stashed_[i];
    ++counters_.completions;
    if (completed.completion != nullptr) {
      completed.completion->OnComplete(completed.result, completed.flags);
    }
  }
  stashed_.clear();
}

void Reactor::StashCompletions() {
  std::array<io_uring_cqe*, kCompletionsInARow> cqes;
  const unsigned count = io_uring_peek_batch_cqe(ring_.get(), cqes.data(), cqes.size());
  for (unsigned i = 0; i < count; ++i) {
    auto* const completion = static_cast<Completion*>(io_uring_cqe_get_data(cqes[i]));
    if (completion == &nudge_seen) {
      ++counters_.nudged;
    } else {
      in_flight_ -= (cqes[i]->flags & IORING_CQE_F_MORE) == 0 ? 1 : 0;
    }
    stashed_.push_back({completion, cqes[i]->res, cqes[i]->flags});
  }
  io_uring_cq_advance(ring_.get(), count);
}

bool Reactor::KernelWantsIn() const {
  const unsigned flags = IO_URING_READ_ONCE(*ring_->sq.kflags);
  return (flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
}

bool Reactor::Spin() {
  const uint64_t prepared = io_uring_sq_ready(ring_.get());
  const uint64_t submit_after = in_flight_ >= prepared + kInFlightToGather ? kGatherNanos : 0;
  const uint64_t start = clock_.MonotonicNanos();
  uint64_t now = start;
  do {
    if (io_uring_cq_ready(ring_.get()) > 0 || !mailbox_.empty() || stop_.load(std::memory_order_relaxed) ||
        timers_.next_due_nanos() <= now) {
      return true;
    }
    const bool submit = io_uring_sq_ready(ring_.get()) > 0 && now - start >= submit_after;
    if (submit || KernelWantsIn()) {
      ++counters_.enters;
      io_uring_submit_and_get_events(ring_.get());
    } else {
      __builtin_ia32_pause();
    }
    now = clock_.MonotonicNanos();
  } while (now - start < options_.spin_nanos);
  return false;
}

void Reactor::WaitForWork() {
  // A timer says how much time there is.
  if (options_.spin_nanos > 0 && timers_.empty() && Spin()) {
    ++counters_.spins;
    return;
  }
  wake_up_->Arm(*this);
  // From here on every push rings; a Stop() rings always.
  if (!mailbox_.FallAsleep()) {
    return;
  }
  uint64_t nanos = TimerHeap::kNever;
  if (!timers_.empty()) {
    const uint64_t now = clock_.MonotonicNanos();
    const uint64_t due = timers_.next_due_nanos();
    nanos = due > now ? due - now : 0;
  }
  ++counters_.sleeps;
  SubmitAndWait(nanos);
}

void Reactor::SubmitAndWait(uint64_t nanos) {
  constexpr uint64_t kNanosPerSecond = 1'000'000'000;
  __kernel_timespec timeout{};
  timeout.tv_sec = static_cast<int64_t>(nanos / kNanosPerSecond);
  timeout.tv_nsec = static_cast<int64_t>(nanos % kNanosPerSecond);
  io_uring_cqe* first = nullptr;
  ++counters_.enters;
  const int result = io_uring_submit_and_wait_timeout(
      ring_.get(), &first, 1, nanos == TimerHeap::kNever ? nullptr : &timeout, nullptr);
  // EBUSY and EAGAIN: the kernel wants completions to be taken first, or is short of memory; the next turn
  // tries again.
  RequireEntered(result);
}

void Reactor::Submit() {
  while (true) {
    ++counters_.enters;
    const int result = io_uring_submit(ring_.get());
    if (result >= 0) {
      return;
    }
    RequireEntered(result);
    StashCompletions();
    io_uring_get_events(ring_.get());
  }
}

io_uring_sqe* Reactor::Prepare(Completion* completion) {
  io_uring_sqe* sqe = io_uring_get_sqe(ring_.get());
  if (sqe == nullptr) {
    EnableRing();
    Submit();
    sqe = io_uring_get_sqe(ring_.get());
    Check(sqe != nullptr, "io_uring took nothing off a full submission queue");
  }
  ++in_flight_;
  io_uring_sqe_set_data(sqe, completion);
  return sqe;
}

void Reactor::Cancel(Completion& target) {
  io_uring_sqe* sqe = Prepare(nullptr);
  io_uring_prep_cancel(sqe, &target, IORING_ASYNC_CANCEL_ALL);
}

void Reactor::Nudge(Reactor& other) {
  if (!other.Sleeps()) {
    return;
  }
  io_uring_sqe* sqe = Prepare(&nudge_seen);
  // Only a failure comes back, as if it had been prepared by nobody.
  --in_flight_;
  io_uring_prep_msg_ring(sqe, other.ring_->ring_fd, 0, reinterpret_cast<uintptr_t>(&nudge_seen), 0);
  sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
}

IoAwaiter Reactor::Read(int fd, void* into, uint32_t bytes, uint64_t offset, uint32_t flags) {
  return {*this, {IORING_OP_READ, fd, into, bytes, offset, flags}};
}

IoAwaiter Reactor::Write(int fd, const void* from, uint32_t bytes, uint64_t offset, uint32_t flags) {
  return {*this, {IORING_OP_WRITE, fd, from, bytes, offset, flags}};
}

IoAwaiter Reactor::ReadVector(int fd, const iovec* parts, uint32_t count, uint64_t offset, uint32_t flags) {
  return {*this, {IORING_OP_READV, fd, parts, count, offset, flags}};
}

IoAwaiter Reactor::WriteVector(int fd, const iovec* parts, uint32_t count, uint64_t offset, uint32_t flags) {
  return {*this, {IORING_OP_WRITEV, fd, parts, count, offset, flags}};
}

IoAwaiter Reactor::DataSync(int fd) {
  return {*this, {IORING_OP_FSYNC, fd, nullptr, 0, 0, IORING_FSYNC_DATASYNC}};
}

IoAwaiter Reactor::Fallocate(int fd, int mode, uint64_t offset, uint64_t bytes) {
  // The kernel takes the length from the address field and the mode from the length field.
  return {*this,
          {IORING_OP_FALLOCATE, fd, reinterpret_cast<const void*>(bytes), static_cast<uint32_t>(mode), offset,
           0}};
}

IoAwaiter Reactor::Poll(int fd, uint32_t events) {
  return {*this, {IORING_OP_POLL_ADD, fd, nullptr, 0, 0, events}};
}

}  // namespace varve
