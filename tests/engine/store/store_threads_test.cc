// Several reactors at once on a real ring: what ThreadSanitizer looks at.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/logger.h"
#include "engine/base/prng.h"
#include "engine/device/uring_device.h"
#include "engine/ring/reactor.h"
#include "engine/ring/spawn_on.h"
#include "engine/store/format_store.h"
#include "engine/store/store.h"
#include "tests/support/image_file.h"

namespace varve::testing {
namespace {

// A reactor and the thread that runs it.
class ReactorThread {
 public:
  explicit ReactorThread(const Clock& clock)
      : reactor_(std::move(*Reactor::Create({}, clock))), thread_([this] { reactor_->Run(); }) {}
  ~ReactorThread() {
    reactor_->Stop();
    thread_.join();
  }
  Reactor& reactor() { return *reactor_; }

 private:
  std::unique_ptr<Reactor> reactor_;
  std::thread thread_;
};

std::string Key(uint64_t writer, uint64_t n) {
  return std::to_string(n % 50) + "/" + std::to_string(writer);
}

// Each batch sets all keys of one writer to the same number, so a reader that sees two numbers saw half a
// batch.
Task<Status> WriteRounds(Store& store, uint64_t writer, uint64_t rounds) {
  for (uint64_t round = 1; round <= rounds; round++) {
    WriteBatch batch;
    for (uint64_t n = 0; n < 50; n++) {
      batch.Put(Key(writer, n), std::to_string(round) + std::string(100, '.'));
    }
    const Durability durability = round % 20 == 0 ? Durability::kDurable : Durability::kInterval;
    std::optional<Status> done = store.TryWrite(batch, durability);
    if (!done) {
      Status waited = co_await store.Write(batch, durability);
      done.emplace(std::move(waited));
    }
    if (!done->ok()) {
      co_return *std::move(done);
    }
    // Its own write is visible when the call has ended.
    Store::Lookup own = co_await store.Get(Key(writer, round), {});
    if (!own.ok() || !own->has_value() || std::stoull(std::string((*own)->bytes())) != round) {
      co_return Corruption("a writer does not see what it wrote");
    }
  }
  co_return OkStatus();
}

Task<Status> ReadRounds(Store& store, uint64_t writers, const std::atomic<bool>& stop, uint64_t seed) {
  Prng random(seed);
  while (!stop.load()) {
    const uint64_t writer = random.Below(writers);
    const std::shared_ptr<const Snapshot> snapshot = store.GetSnapshot();
    ReadOptions options;
    options.snapshot = random.OneIn(2) ? snapshot.get() : nullptr;
    const std::unique_ptr<StoreIterator> it = store.NewIterator({}, {}, options);
    std::string seen;
    Step step = it->Seek("");
    while (true) {
      if (step == Step::kNeedsIo) {
        co_await it->Load();
      }
      if (!it->Valid()) {
        break;
      }
      if (it->key().ends_with("/" + std::to_string(writer))) {
        if (seen.empty()) {
          seen = it->value();
        } else if (seen != it->value()) {
          co_return Corruption("a reader saw half a batch");
        }
      }
      step = it->Next();
    }
    if (!it->status().ok()) {
      co_return it->status();
    }
    co_await Executor::Current().Yield();
  }
  co_return OkStatus();
}

std::string OwnKey(uint64_t writer, uint64_t n) {
  return std::to_string(writer) + "/" + std::to_string(100 + n);
}

// Each batch deletes the range of all keys of one writer, and sets those anew to the round's number of which
// this is not the third.
Task<Status> DeleteRounds(Store& store, uint64_t writer, uint64_t rounds) {
  for (uint64_t round = 1; round <= rounds; round++) {
    WriteBatch batch;
    batch.DeleteRange(OwnKey(writer, 0), OwnKey(writer, 50));
    for (uint64_t n = 0; n < 50; n++) {
      if (n % 3 != round % 3) {
        batch.Put(OwnKey(writer, n), std::to_string(round) + std::string(100, '.'));
      }
    }
    std::optional<Status> done = store.TryWrite(batch, Durability::kInterval);
    if (!done) {
      Status waited = co_await store.Write(batch, Durability::kInterval);
      done.emplace(std::move(waited));
    }
    if (!done->ok()) {
      co_return *std::move(done);
    }
    for (uint64_t n = round % 40; n < round % 40 + 3; n++) {
      Store::Lookup own = co_await store.Get(OwnKey(writer, n), {});
      if (!own.ok() || own->has_value() != (n % 3 != round % 3) ||
          (own->has_value() && std::stoull(std::string((*own)->bytes())) != round)) {
        co_return Corruption("a writer sees what its range hides, or does not see what it wrote");
      }
    }
  }
  co_return OkStatus();
}

Task<Status> ReadWhatRangesLeave(Store& store, uint64_t writers, const std::atomic<bool>& stop,
                                 uint64_t seed) {
  Prng random(seed);
  while (!stop.load()) {
    const uint64_t writer = random.Below(writers);
    const std::unique_ptr<StoreIterator> it = store.NewIterator({}, {}, {});
    std::string seen;
    uint64_t count = 0;
    Step step = it->Seek(OwnKey(writer, 0));
    while (true) {
      if (step == Step::kNeedsIo) {
        co_await it->Load();
      }
      if (!it->Valid() || it->key() >= OwnKey(writer, 50)) {
        break;
      }
      const uint64_t n = std::stoull(std::string(it->key().substr(it->key().find('/') + 1))) - 100;
      if ((count > 0 && seen != it->value()) || n % 3 == std::stoull(std::string(it->value())) % 3) {
        co_return Corruption("a reader saw what a range hides");
      }
      seen = it->value();
      count++;
      step = it->Next();
    }
    if (!it->status().ok()) {
      co_return it->status();
    }
    if (count != 0 && count != 33 && count != 34) {
      co_return Corruption("a reader saw half a batch");
    }
    co_await Executor::Current().Yield();
  }
  co_return OkStatus();
}

using Write = Task<Status> (*)(Store& store, uint64_t writer, uint64_t rounds);
using Read = Task<Status> (*)(Store& store, uint64_t writers, const std::atomic<bool>& stop, uint64_t seed);

void RunAtOnce(Write write, Read read_all, const Techniques& techniques) {
  constexpr uint64_t kWriters = 4;
  constexpr uint64_t kRounds = 150;
  SystemClock clock;
  NullLogger logger;
  ImageFile image(128 * kMiB);
  Result<std::unique_ptr<ClaimedDevice>> device = OpenUringDevice(image.path(), {});
  if (!device.ok()) {
    GTEST_SKIP() << device.ToString();
  }
  ReactorThread background(clock);
  ReactorThread front(clock);
  Result<std::unique_ptr<Reactor>> own = Reactor::Create({}, clock);
  ASSERT_TRUE(own.ok()) << own.ToString();
  Reactor& here = **own;

  FormatStoreOptions format;
  format.uuid = MakeUuid(3, 4);
  const Result<Superblock> formatted = RunTask(here, FormatStore(**device, clock, std::move(format)));
  ASSERT_TRUE(formatted.ok()) << formatted.ToString();
  StoreOptions options;
  options.memtable_bytes = 64 * kKiB;
  options.table_bytes = 64 * kKiB;
  options.level1_bytes = 256 * kKiB;
  options.block_cache_bytes = 512 * kKiB;
  options.commit_interval_nanos = 5'000'000;
  options.techniques = techniques;
  StoreEnvironment environment{**device, clock, logger, {&background.reactor()}, 7};
  Result<std::unique_ptr<Store>> opened = RunTask(here, OpenStore(std::move(environment), options));
  ASSERT_TRUE(opened.ok()) << opened.ToString();
  Store& store = **opened;

  // Writers and readers on two threads: half on `front`, half here.
  struct Worker {
    static Task<void> On(Executor& executor, Task<Status> work, Status& result, std::atomic<int>& left) {
      co_await executor.Yield();
      Status done = co_await std::move(work);
      result = std::move(done);
      left--;
    }
  };
  std::atomic<bool> stop{false};
  std::vector<Status> written(kWriters);
  std::vector<Status> read(2);
  std::atomic<int> writers_left{kWriters};
  std::atomic<int> readers_left{2};
  const auto start = [&](Reactor& on, Task<void> task) { SpawnOn(on, std::move(task)); };
  for (uint64_t i = 0; i < kWriters; i++) {
    Reactor& on = i % 2 == 0 ? front.reactor() : here;
    start(on, Worker::On(on, write(store, i, kRounds), written[i], writers_left));
  }
  for (uint64_t i = 0; i < 2; i++) {
    Reactor& on = i % 2 == 0 ? front.reactor() : here;
    start(on, Worker::On(on, read_all(store, kWriters, stop, i), read[i], readers_left));
  }
  struct Wait {
    static Task<void> Until(const std::atomic<int>& left) {
      while (left.load() != 0) {
        co_await Executor::Current().Sleep(1'000'000);
      }
    }
  };
  RunTask(here, Wait::Until(writers_left));
  stop = true;
  RunTask(here, Wait::Until(readers_left));
  for (const Status& status : written) {
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  for (const Status& status : read) {
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  const Status closed = RunTask(here, store.Close());
  EXPECT_TRUE(closed.ok()) << closed.ToString();
  opened->reset();
}

TEST(StoreThreads, ReactorsWriteAndReadAtOnceAndNobodySeesHalfABatch) {
  RunAtOnce(WriteRounds, ReadRounds, StoreOptions().techniques);
}

TEST(StoreThreads, ReactorsDeleteRangesAndReadAtOnceAndNobodySeesWhatTheyHide) {
  Techniques techniques = StoreOptions().techniques;
  techniques.delete_aware = true;
  RunAtOnce(DeleteRounds, ReadWhatRangesLeave, techniques);
}

}  // namespace
}  // namespace varve::testing
