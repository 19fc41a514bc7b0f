#include "src/mounted_store.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <utility>

#include "engine/base/check.h"
#include "engine/ring/spawn_on.h"
#include "engine/space/superblock_store.h"
#include "fs/fuse/uring_transport.h"
#include "fs/namespace/namespace_format.h"
#include "src/mount_statistics.h"

namespace varve {

namespace {

// Up to so many CPUs each has a reactor of its own, and a request wakes them all: the one beside the caller
// answers. Beyond, that many useless wakings would cost more than they bring, and as many reactors as keep
// the one queue of /dev/fuse busy run wherever there is room.
constexpr size_t kPinnedReactorsMax = 4;
constexpr size_t kReactorsMax = 8;
// fuse-over-io_uring has a queue for each CPU and wakes nobody else, so every CPU has its reactor; with more,
// several share one.
constexpr size_t kUringReactorsMax = 64;
// Requests in the daemon at once, over all queues, and how many a queue needs: with 8, random reads at depth
// 32 lose a third.
constexpr uint32_t kUringEntriesMax = 512;
constexpr uint32_t kUringQueueEntriesMin = 8;
constexpr uint32_t kUringQueueEntriesMax = 32;
// Flush and compaction give way to whoever waits for an answer.
constexpr int kBackgroundNice = 10;
// One request carries 1 MiB: four of them ahead keep a sequential reader fed.
constexpr uint32_t kReadAheadKibibytes = 4096;

std::vector<int> UsableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(static_cast<size_t>(cpu), &set)) {
        cpus.push_back(cpu);
      }
    }
  }
  return cpus;
}

bool IsBlockDevice(const std::string& path) {
  struct stat stat = {};
  return ::stat(path.c_str(), &stat) == 0 && S_ISBLK(stat.st_mode);
}

}  // namespace

MountedStore::MountedStore(MountRequest request, const Clock& clock, Logger& logger)
    : request_(std::move(request)),
      clock_(clock),
      logger_(logger),
      as_block_device_(geteuid() == 0 && IsBlockDevice(request_.device)),
      ended_descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
}

MountedStore::~MountedStore() {
  connection_.reset();
  if (filesystem_ != nullptr || store_ != nullptr || device_ != nullptr) {
    const Status closed = CallOn(first(), Close());
    if (!closed.ok()) {
      logger_.Log(LogLevel::kError, closed.ToString());
    }
  }
  lanes_.clear();
  close(ended_descriptor_);
}

Status MountedStore::ChooseTransport() {
  const TransportChoice choice = request_.options.transport;
  if (choice == TransportChoice::kDevFuse) {
    return OkStatus();
  }
  const Status enabled = FuseUringEnabled();
  tries_uring_ = enabled.ok() && FuseUringQueues() > 0;
  if (tries_uring_) {
    return OkStatus();
  }
  return KernelWantsNoUring(enabled.ok() ? "the kernel does not tell how many CPUs there may be"
                                         : enabled.error().message());
}

Status MountedStore::KernelWantsNoUring(std::string why) {
  tries_uring_ = false;
  why_no_uring_ = std::move(why);
  if (request_.options.transport == TransportChoice::kUring) {
    return Unsupported(fmt::format("transport=uring: {}", why_no_uring_));
  }
  return OkStatus();
}

Status MountedStore::StartThreads() {
  const std::vector<int> cpus = UsableCpus();
  const size_t pinned_max = tries_uring_ ? kUringReactorsMax : kPinnedReactorsMax;
  const bool pinned = !cpus.empty() && cpus.size() <= pinned_max;
  waking_ = pinned && cpus.size() <= kPinnedReactorsMax ? DevFuseWaking::kAll : DevFuseWaking::kOne;
  const size_t reactors_max = tries_uring_ ? kUringReactorsMax : kReactorsMax;
  const size_t reactors = std::clamp<size_t>(cpus.size(), 1, reactors_max);
  for (size_t i = 0; i < reactors; ++i) {
    ReactorThread::Options options;
    options.name = fmt::format("varve-{}", i);
    options.cpu = pinned ? cpus[i] : -1;
    options.reactor.wide_entries = tries_uring_;
    Result<std::unique_ptr<ReactorThread>> thread = ReactorThread::Start(std::move(options), clock_);
    if (!thread.ok()) {
      return thread.error();
    }
    lanes_.push_back({nullptr, nullptr, std::move(*thread)});
    lane_cpus_.push_back(options.cpu);
  }
  ReactorThread::Options options;
  options.name = "varve-settle";
  options.nice = kBackgroundNice;
  Result<std::unique_ptr<ReactorThread>> thread = ReactorThread::Start(std::move(options), clock_);
  if (!thread.ok()) {
    return thread.error();
  }
  background_ = std::move(*thread);
  return OkStatus();
}

Status MountedStore::Start() {
  if (Status status = ChooseTransport(); !status.ok()) {
    return status;
  }
  if (Status status = StartThreads(); !status.ok()) {
    return status;
  }
  if (Status status = CallOn(first(), OpenDevice()); !status.ok()) {
    return status;
  }
  if (as_block_device_) {
    if (Status status = device_->ReleaseClaim(); !status.ok()) {
      return status;
    }
  }
  MountSpecification specification;
  specification.source = request_.device;
  specification.directory = request_.directory;
  specification.block_device = as_block_device_;
  specification.options = request_.options.kernel;
  Result<std::unique_ptr<Connection>> mounted = Connection::Mount(std::move(specification));
  if (!mounted.ok()) {
    return mounted.error();
  }
  connection_ = std::move(*mounted);
  if (Status status = CallOn(first(), Attach()); !status.ok()) {
    return status;
  }
  for (Lane& lane : lanes_) {
    const Status registered = CallOn(lane.thread->reactor(), lane.transport->Register(*lane.channel));
    if (!registered.ok()) {
      return registered;
    }
  }
  serving_ = lanes_.size();
  for (Lane& lane : lanes_) {
    SpawnOn(lane.thread->reactor(), Serve(lane));
  }
  if (geteuid() == 0) {
    const Status raised = RaiseReadAhead(request_.directory, kReadAheadKibibytes);
    if (!raised.ok()) {
      logger_.Log(LogLevel::kWarning, fmt::format("read-ahead stays at its default: {}", raised.ToString()));
    }
  }
  const std::string why = why_no_uring_.empty() ? "" : fmt::format("; {}", why_no_uring_);
  logger_.Log(LogLevel::kInfo, fmt::format("mounted {} at {} ({}, {} reactors on {}{})", request_.device,
                                           request_.directory, as_block_device_ ? "fuseblk" : "fuse",
                                           lanes_.size(), lanes_.front().transport->name(), why));
  return OkStatus();
}

Task<Status> MountedStore::OpenDevice() {
  UringDeviceOptions options;
  options.read_only = request_.options.read_only;
  options.claim = as_block_device_ ? DeviceClaim::kExclusiveUntilMount : DeviceClaim::kExclusive;
  Result<std::unique_ptr<ClaimedDevice>> opened = OpenUringDevice(request_.device, options);
  if (!opened.ok()) {
    co_return opened.error();
  }
  device_ = std::move(*opened);
  // Read once more, by OpenStore, when the mount is ours: this is for a message before anything happens.
  SuperblockStore superblocks(*device_);
  const Result<Superblock> superblock = co_await superblocks.Load();
  co_return superblock.status();
}

Task<Status> MountedStore::OpenStoreAndFiles() {
  StoreEnvironment store_environment = {
      *device_, clock_, logger_, {&background_->reactor()}, std::random_device()()};
  StoreOptions store_options = request_.options.store;
  store_options.outlines = OutlinesOfDirents();
  Result<std::unique_ptr<Store>> store = co_await OpenStore(store_environment, store_options);
  if (!store.ok()) {
    co_return store.error();
  }
  store_ = std::move(*store);
  const FileSystemEnvironment environment = {*store_, clock_, logger_, background_->reactor()};
  FileSystemOptions options;
  options.read_only = request_.options.read_only;
  options.sync = request_.options.sync;
  options.access_times = request_.options.access_times;
  options.directory_access_times = request_.options.directory_access_times;
  Result<std::unique_ptr<FileSystem>> filesystem = co_await FileSystem::Mount(environment, options);
  if (!filesystem.ok()) {
    co_return filesystem.error();
  }
  filesystem_ = std::move(*filesystem);
  co_return OkStatus();
}

void MountedStore::MakeTransports(bool uring) {
  const int descriptor = connection_->descriptor();
  if (!uring) {
    for (Lane& lane : lanes_) {
      lane.transport = std::make_unique<DevFuseTransport>(descriptor, lane.thread->reactor(), waking_);
    }
    return;
  }
  // Each queue to the reactor that is pinned to its CPU; those of CPUs that have none are shared out.
  const uint32_t queues = FuseUringQueues();
  std::vector<UringTransportOptions> options(lanes_.size());
  for (uint32_t queue = 0; queue < queues; ++queue) {
    const auto pinned = std::find(lane_cpus_.begin(), lane_cpus_.end(), static_cast<int>(queue));
    const size_t lane =
        pinned != lane_cpus_.end() ? static_cast<size_t>(pinned - lane_cpus_.begin()) : queue % lanes_.size();
    options[lane].queues.push_back(static_cast<uint16_t>(queue));
  }
  options.front().serves_forgets = true;
  std::vector<Reactor*> reactors;
  for (const Lane& lane : lanes_) {
    reactors.push_back(&lane.thread->reactor());
  }
  const auto places = std::make_shared<UringPlaces>(std::move(reactors));
  for (size_t i = 0; i < lanes_.size(); ++i) {
    options[i].entries_per_queue =
        std::clamp(kUringEntriesMax / queues, kUringQueueEntriesMin, kUringQueueEntriesMax);
    lanes_[i].transport =
        std::make_unique<UringTransport>(descriptor, std::move(options[i]), places, static_cast<uint16_t>(i));
  }
}

Task<Status> MountedStore::Attach() {
  MessagePool pool;
  const MessageLease init = pool.Take();
  const Result<size_t> received = co_await ReceiveInit(connection_->descriptor(), first(), init);
  if (!received.ok()) {
    co_return received.error();
  }
  if (tries_uring_ && !OffersFuseUring(init.bytes().first(*received))) {
    if (Status status = KernelWantsNoUring("the kernel does not offer it to this mount"); !status.ok()) {
      co_return status;
    }
  }
  MakeTransports(tries_uring_);
  const Status opened = co_await OpenStoreAndFiles();
  if (!opened.ok()) {
    co_return opened;
  }
  // The last one to learn of INIT answers it: from then on every channel can take requests.
  for (Lane& lane : lanes_) {
    Result<std::unique_ptr<Channel>> channel =
        Channel::Create({*filesystem_, *this, *lane.transport, lane.thread->reactor(), logger_, control_});
    if (!channel.ok()) {
      co_return channel.error();
    }
    lane.channel = std::move(*channel);
    const bool last = &lane == &lanes_.back();
    const Status initialised = lane.channel->Initialise(init.bytes().first(*received), last);
    if (!initialised.ok()) {
      co_return initialised;
    }
  }
  co_return OkStatus();
}

Task<void> MountedStore::Serve(Lane& lane) {
  const Status served = co_await lane.transport->Serve(*lane.channel);
  if (!served.ok()) {
    logger_.Log(LogLevel::kError, served.ToString());
  }
  if (serving_.fetch_sub(1) == 1) {
    const uint64_t one = 1;
    if (write(ended_descriptor_, &one, sizeof(one)) != sizeof(one)) {
      logger_.Log(LogLevel::kError, "cannot tell that the mount has ended");
    }
  }
}

Status MountedStore::Flush() {
  return CallOn(first(), FlushUnlessClosing());
}

Task<Status> MountedStore::FlushUnlessClosing() {
  if (closing_ || filesystem_ == nullptr) {
    co_return OkStatus();
  }
  flushed_.Reset();
  Status status = co_await filesystem_->Sync();
  flushed_.Set();
  co_return status;
}

Status MountedStore::Finish() {
  // The descriptor tells it through the kernel alone: from here on this thread sees what the lanes did last.
  Check(serving_.load() == 0, "a mount was finished while it was served");
  return CallOn(first(), Close());
}

Task<Status> MountedStore::Close() {
  Executor& home = Executor::Current();
  co_await first().Switch();
  if (!closing_) {
    closing_ = true;
    close_status_ = co_await CloseOnce();
    closed_.Set();
  }
  co_await closed_.Wait();
  Status status = close_status_;
  co_await home.Switch();
  co_return status;
}

Task<Status> MountedStore::CloseOnce() {
  for (Lane& lane : lanes_) {
    if (lane.channel != nullptr) {
      co_await lane.channel->Quiesce();
    }
  }
  co_await scrubber_.Finish();
  co_await flushed_.Wait();
  Status status;
  if (filesystem_ != nullptr) {
    status = co_await filesystem_->Unmount();
    filesystem_.reset();
  }
  if (store_ != nullptr) {
    const Status closed = co_await store_->Close();
    if (status.ok()) {
      status = closed;
    }
    store_.reset();
  }
  // Before umount(8) returns, so that the device may be detached right afterwards.
  device_.reset();
  co_return status;
}

std::string MountedStore::StartScrub() {
  scrubber_.Start(*store_, *device_);
  return ScrubReport();
}

std::string MountedStore::StopScrub() {
  scrubber_.Stop();
  return ScrubReport();
}

std::string MountedStore::StatisticsJson() const {
  std::vector<const Transport*> transports;
  std::vector<const ChannelStatistics*> channels;
  ReactorTurns turns;
  for (const Lane& lane : lanes_) {
    transports.push_back(lane.transport.get());
    channels.push_back(&lane.channel->statistics());
    turns.of_requests.push_back(&lane.thread->reactor().turns());
  }
  turns.of_background = &background_->reactor().turns();
  return MountStatisticsJson(store_->StatisticsJson(), filesystem_->Statistics(), transports, channels,
                             turns);
}

}  // namespace varve
