// Mounts a filesystem whose store lies in memory, to measure what a request costs without a device, and how
// the reactors should wait. Serves until it is unmounted.
//
//   memory_mount DIR REACTORS all|one|uring    (all, uring: each reactor is pinned to a CPU; all: a request
//                                              wakes them all, uring: the one of its CPU)

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <semaphore>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/clock.h"
#include "fs/fuse/channel.h"
#include "fs/fuse/control_directory.h"
#include "fs/fuse/dev_fuse_transport.h"
#include "fs/fuse/mount_owner.h"
#include "fs/ops/filesystem.h"
#include "src/loggers.h"
#include "tests/mount/measured_lane.h"
#include "tests/support/memory_store.h"
#include "tools/reactor_thread.h"

namespace varve {
namespace {

struct Lane {
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Channel> channel;
  std::unique_ptr<ReactorThread> thread;
};

// Nothing outlives the mount, so there is nothing to close.
class Owner final : public MountOwner {
 public:
  Task<Status> Close() override { co_return OkStatus(); }
  std::string StatisticsJson() const override { return "{}"; }
  std::string ScrubReport() const override { return ""; }
  std::string StartScrub() override { return ""; }
  std::string StopScrub() override { return ""; }
  std::string source() const override { return "memory"; }
};

Task<Status> Attach(int descriptor, std::vector<Lane>& lanes, FileSystem& fs, Owner& owner,
                    ControlDirectory& control, Logger& logger) {
  MessagePool pool;
  const MessageLease init = pool.Take();
  const Result<size_t> received = co_await ReceiveInit(descriptor, lanes.front().thread->reactor(), init);
  if (!received.ok()) {
    co_return received.error();
  }
  for (Lane& lane : lanes) {
    Result<std::unique_ptr<Channel>> channel =
        Channel::Create({fs, owner, *lane.transport, lane.thread->reactor(), logger, control});
    if (!channel.ok()) {
      co_return channel.error();
    }
    lane.channel = std::move(*channel);
    const Status initialised =
        lane.channel->Initialise(init.bytes().first(*received), &lane == &lanes.back());
    if (!initialised.ok()) {
      co_return initialised;
    }
  }
  co_return OkStatus();
}

Task<void> Serve(Lane& lane, std::counting_semaphore<>& ended) {
  co_await lane.thread->reactor().Switch();
  const Status registered = co_await lane.transport->Register(*lane.channel);
  if (!registered.ok()) {
    std::fprintf(stderr, "%s\n", registered.ToString().c_str());
  }
  const Status served = co_await lane.transport->Serve(*lane.channel);
  const ChannelStatistics& statistics = lane.channel->statistics();
  std::printf("served: %s, %llu sleeps; requests by opcode:", served.ToString().c_str(),
              static_cast<unsigned long long>(statistics.sleeps.load()));
  for (size_t opcode = 0; opcode < ChannelStatistics::kOpcodes; ++opcode) {
    if (const uint64_t count = statistics.requests[opcode].load(); count > 0) {
      std::printf(" %zu:%llu", opcode, static_cast<unsigned long long>(count));
    }
  }
  std::printf("\n");
  ended.release();
}

int Run(const std::string& directory, int reactors, std::string_view kind) {
  const SystemClock clock;
  TerminalLogger logger;
  Result<std::unique_ptr<Connection>> connection = MountToMeasure("memory", directory);
  if (!connection.ok()) {
    std::fprintf(stderr, "%s\n", connection.ToString().c_str());
    return 1;
  }
  std::vector<Lane> lanes;
  std::vector<Reactor*> of_all;
  for (int i = 0; i < reactors; ++i) {
    Lane lane;
    const int cpu = kind == "one" ? -1 : i;
    lane.thread = *ReactorThread::Start(
        {"reactor-" + std::to_string(i), 0, cpu, {.wide_entries = kind == "uring"}}, clock);
    of_all.push_back(&lane.thread->reactor());
    lanes.push_back(std::move(lane));
  }
  const auto places = std::make_shared<UringPlaces>(std::move(of_all));
  for (uint16_t i = 0; i < lanes.size(); ++i) {
    lanes[i].transport = MakeTransport((*connection)->descriptor(), i, kind, places);
  }
  const std::unique_ptr<ReactorThread> background = *ReactorThread::Start({"background", 10, -1, {}}, clock);
  Executor& first = lanes.front().thread->reactor();
  MemoryStore store;
  const FileSystemEnvironment environment = {store, clock, logger, background->reactor()};
  std::unique_ptr<FileSystem> fs = *CallOn(first, FileSystem::Mount(environment, FileSystemOptions()));
  Owner owner;
  ControlDirectory control(owner);
  const Status attached =
      CallOn(first, Attach((*connection)->descriptor(), lanes, *fs, owner, control, logger));
  if (!attached.ok()) {
    std::fprintf(stderr, "%s\n", attached.ToString().c_str());
    return 1;
  }
  std::counting_semaphore<> ended(0);
  for (Lane& lane : lanes) {
    Spawn(Serve(lane, ended));
  }
  for (int i = 0; i < reactors; ++i) {
    ended.acquire();
  }
  const Status unmounted = CallOn(first, fs->Unmount());
  return unmounted.ok() ? 0 : 1;
}

}  // namespace
}  // namespace varve

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: memory_mount DIR REACTORS all|one|uring\n");
    return 2;
  }
  return varve::Run(argv[1], std::atoi(argv[2]), argv[3]);
}
