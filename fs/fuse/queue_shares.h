// QueueShares: who answers the requests of a queue that are many at once.
//
// The kernel puts a request into the queue of the CPU on which its caller runs, and that CPU's reactor
// answers it: for one request at a time nothing is faster. A caller with many under way, though, gets all of
// them answered by the CPU that it needs itself, while the others idle. The kernel lets an answer come from
// another ring than the request went to, and sends the next request of that entry there. So a reactor with
// many requests of its own queues passes some on, to one that sleeps, and has done with their entries until
// few are under way again (docs/design/fuse.md, "Queues that are shared out").
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace varve {

// Reactors are numbered from 0; "home" is the one whose queues a request came by. What is said of the reactor
// `at` is said on its thread.
class QueueShares {
 public:
  // Those that follow home in number may help it: so many.
  static constexpr size_t kHelpersMax = 3;
  // From so many requests under way on a queue is shared out.
  static constexpr uint32_t kDeep = 6;
  // A reactor passes on what it has more than the other, its own and what it helps with, by so many at least.
  static constexpr uint32_t kMargin = 3;
  // With no more requests under way a queue is worth nobody's help.
  static constexpr uint32_t kShallow = 3;
  // What makes requests go elsewhere has to be seen so often in a row: two callers with many requests on two
  // CPUs are uneven for moments, too.
  static constexpr uint32_t kInARow = 16;

  explicit QueueShares(size_t reactors);

  // A request of `home` is being answered at `at`, or has been.
  void Begin(uint16_t home, uint16_t at) { Add(home, at, 1); }
  void End(uint16_t home, uint16_t at) { Add(home, at, -1); }
  // Where a request that has come to `at` is to be answered, before Begin: there or elsewhere. `may_move`: it
  // is one that others do not wait for, such as those that take turns to write a file do. `sleeps(reactor)`:
  // whether that one has nothing to do.
  template <typename Sleeps>
  uint16_t PlaceFor(uint16_t home, uint16_t at, bool may_move, const Sleeps& sleeps);

 private:
  static constexpr size_t kCacheLineBytes = 64;
  // Of one home at one reactor, whose thread alone writes it.
  struct alignas(kCacheLineBytes) Share {
    std::atomic<uint32_t> under_way{0};
    // Requests for which the same has been true so far: at home, that a helper has less to do; at a helper,
    // that few are under way.
    uint32_t in_a_row = 0;
  };

  // Place 0 is home's own. No division: each request asks.
  size_t PlaceOf(uint16_t home, uint16_t at) const {
    return at >= home ? size_t{at} - home : at + reactors_ - home;
  }
  uint16_t ReactorAt(uint16_t home, size_t place) const {
    const size_t reactor = home + place;
    return static_cast<uint16_t>(reactor < reactors_ ? reactor : reactor - reactors_);
  }
  Share& ShareOf(uint16_t home, size_t place) { return shares_[home * places_ + place]; }
  uint32_t UnderWay(uint16_t home, size_t place) {
    return ShareOf(home, place).under_way.load(std::memory_order_relaxed);
  }
  void Add(uint16_t home, uint16_t at, int32_t more) {
    std::atomic<uint32_t>& under_way = ShareOf(home, PlaceOf(home, at)).under_way;
    under_way.store(under_way.load(std::memory_order_relaxed) + static_cast<uint32_t>(more),
                    std::memory_order_relaxed);
  }

  const size_t reactors_;
  // Home and its helpers.
  const size_t places_;
  const std::unique_ptr<Share[]> shares_;
};

template <typename Sleeps>
uint16_t QueueShares::PlaceFor(uint16_t home, uint16_t at, bool may_move, const Sleeps& sleeps) {
  const size_t here = PlaceOf(home, at);
  Share& share = ShareOf(home, here);
  const uint32_t mine = UnderWay(home, here);
  if (!may_move || (here == 0 && mine < kMargin)) {
    share.in_a_row = 0;
    return home;
  }
  uint32_t all = 0;
  for (size_t place = 0; place < places_; ++place) {
    all += UnderWay(home, place);
  }
  if (here != 0) {
    share.in_a_row = all <= kShallow ? share.in_a_row + 1 : 0;
    const bool lends_back = mine + UnderWay(at, 0) >= UnderWay(home, 0) + kMargin && sleeps(home);
    if (share.in_a_row < kInARow && !(all >= kDeep && lends_back)) {
      return at;
    }
    share.in_a_row = 0;
    return home;
  }
  bool is_uneven = false;
  for (size_t place = 1; all >= kDeep && place < places_; ++place) {
    const uint16_t helper = ReactorAt(home, place);
    if (mine >= UnderWay(home, place) + UnderWay(helper, 0) + kMargin) {
      is_uneven = true;
      if (share.in_a_row >= kInARow && sleeps(helper)) {
        return helper;
      }
    }
  }
  share.in_a_row = is_uneven ? share.in_a_row + 1 : 0;
  return at;
}

}  // namespace varve
