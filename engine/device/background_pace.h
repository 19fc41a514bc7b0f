// BackgroundPace: how much of the device background work may keep busy while somebody waits for an answer. A
// read that a user waits for stands behind whatever was submitted before it, and where the kernel copies (a
// loop device over memory) its worker keeps a CPU until nothing is left. So while requests come, the
// background's transfers go in small pieces, and only as many at once as the device works on side by side:
// more would but wait there, before others. That many are in flight as leave a piece's time near what one
// takes by itself (as TCP Vegas does it; Brakmo, Peterson 1995), which is measured anew from time to time;
// never less than two, so that the device does not wait for the next.
#pragma once

#include <array>
#include <coroutine>
#include <cstdint>
#include <functional>

#include "engine/ring/executor.h"

namespace varve {

// One thread at a time: that of `background`.
class BackgroundPace {
 public:
  static constexpr uint64_t kPieceBytes = 128 * 1024;
  static constexpr uint32_t kPiecesMin = 2;
  static constexpr uint32_t kPiecesMax = 64;
  // A request less than so long ago: somebody waits, or is about to.
  static constexpr uint64_t kBusyNanos = 10'000'000;

  enum class Direction : uint8_t { kRead, kWrite };

  // `served` counts requests; called on the background's thread. Both executor and what it looks at must
  // outlive this.
  BackgroundPace(Executor& background, std::function<uint64_t()> served)
      : background_(background), served_(std::move(served)) {}
  BackgroundPace(const BackgroundPace&) = delete;
  BackgroundPace& operator=(const BackgroundPace&) = delete;

  // Whether a transfer that begins now goes by the pieces. Any thread: others than the background's never do.
  bool Applies();
  // co_await Begin(): waits for its turn, in the order of arrival. Each is followed by an End.
  auto Begin() { return BeginAwaiter{*this, {}}; }
  // A piece is done, that took `nanos` from where Begin() ended.
  void End(Direction direction, uint64_t bytes, uint64_t nanos);

  uint32_t pieces_max() const { return pieces_max_; }
  uint32_t pieces() const { return pieces_; }

 private:
  struct Waiter {
    PostedWork work;
    Waiter* next = nullptr;
  };
  struct BeginAwaiter {
    BackgroundPace& pace;
    Waiter waiter;

    bool await_ready() const { return pace.TryBegin(); }
    void await_suspend(std::coroutine_handle<> self) {
      waiter.work.coroutine = self;
      pace.Enqueue(waiter);
    }
    void await_resume() const {}
  };

  bool MayBegin() const;
  void Begun();
  bool TryBegin();
  void Enqueue(Waiter& waiter);
  // A piece took so many times what one takes by itself.
  void Adapt(double slower);

  Executor& background_;
  const std::function<uint64_t()> served_;
  uint64_t served_before_ = 0;
  uint64_t looked_nanos_ = 0;
  uint64_t served_nanos_ = 0;
  bool was_served_ = false;
  uint32_t pieces_ = 0;
  uint32_t pieces_max_ = kPiecesMin;
  // Since pieces_max_ was last looked at.
  uint32_t adapted_by_ = 0;
  double slower_sum_ = 0;
  // What a piece took with nothing else in flight, by direction; 0: none yet.
  std::array<uint64_t, 2> lone_nanos_{};
  // The next piece begins when nothing is in flight, and nothing beside it.
  bool wants_lone_ = true;
  // Whether the only piece in flight has been that since it began.
  bool is_lone_ = false;
  uint32_t since_lone_ = 0;
  Waiter* oldest_ = nullptr;
  Waiter* newest_ = nullptr;
};

}  // namespace varve
