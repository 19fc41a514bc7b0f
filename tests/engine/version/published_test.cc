#include "engine/version/published.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace varve {
namespace {

// Counts itself, and shows when it is read after its end.
struct Counted {
  Counted(uint64_t n, std::atomic<int>& counter) : number(n), check(~n), alive(counter) { ++alive; }
  ~Counted() {
    check = 0;
    --alive;
  }
  uint64_t number;
  uint64_t check;
  std::atomic<int>& alive;
};

std::shared_ptr<const Counted> Make(uint64_t number, std::atomic<int>& alive) {
  return std::make_shared<const Counted>(number, alive);
}

TEST(Published, AReplacedValueWithoutPinsGoesAtOnce) {
  std::atomic<int> alive{0};
  Published<Counted> published(Make(1, alive));
  published.Publish(Make(2, alive));
  EXPECT_EQ(alive, 1);
  EXPECT_EQ(published.Acquire()->number, 2u);
}

TEST(Published, APinnedValueStaysUntilItsLastPinIsDropped) {
  std::atomic<int> alive{0};
  Published<Counted> published(Make(1, alive));
  auto first = published.Acquire();
  auto second = published.Acquire();
  published.Publish(Make(2, alive));
  EXPECT_EQ(first->number, 1u);
  first = {};
  EXPECT_EQ(alive, 2);
  EXPECT_EQ(second->number, 1u);
  second = {};
  EXPECT_EQ(alive, 1);
  EXPECT_EQ(published.replaced_count(), 0u);
}

TEST(Published, APinMayBeDroppedOnAnotherThread) {
  std::atomic<int> alive{0};
  Published<Counted> published(Make(1, alive));
  auto pin = published.Acquire();
  published.Publish(Make(2, alive));
  std::thread([moved = std::move(pin)]() mutable { moved = {}; }).join();
  EXPECT_EQ(alive, 1);
}

TEST(Published, AMovedPinCountsOnce) {
  std::atomic<int> alive{0};
  Published<Counted> published(Make(1, alive));
  auto pin = published.Acquire();
  auto moved = std::move(pin);
  EXPECT_FALSE(pin);  // NOLINT: a moved pin is empty by contract
  published.Publish(Make(2, alive));
  EXPECT_EQ(alive, 2);
  moved = {};
  EXPECT_EQ(alive, 1);
}

TEST(Published, ReadersNeverSeeAValueThatIsGoneWhileOthersReplaceIt) {
  std::atomic<int> alive{0};
  {
    Published<Counted> published(Make(0, alive));
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> bad{0};
    std::vector<std::thread> readers;
    for (int reader = 0; reader < 3; ++reader) {
      readers.emplace_back([&] {
        uint64_t last = 0;
        Published<Counted>::Pin kept;
        for (uint64_t turn = 0; !stop; ++turn) {
          auto pin = published.Acquire();
          bad += pin->check != ~pin->number;
          bad += pin->number < last;
          last = pin->number;
          if (turn % 7 == 0) {
            kept = std::move(pin);
          }
          bad += kept && kept->check != ~kept->number;
        }
      });
    }
    for (uint64_t number = 1; number <= 3000; ++number) {
      published.Publish(Make(number, alive));
    }
    stop = true;
    for (std::thread& reader : readers) {
      reader.join();
    }
    EXPECT_EQ(bad, 0u);
    published.Publish(Make(9999, alive));
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST(PublishedDeathTest, EndingWithAPinStillOutStopsTheProcess) {
  std::atomic<int> alive{0};
  EXPECT_DEATH(
      {
        auto published = std::make_unique<Published<Counted>>(Make(1, alive));
        auto pin = published->Acquire();
        published.reset();
      },
      "still pinned");
}

}  // namespace
}  // namespace varve
