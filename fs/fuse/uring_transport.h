// Requests by fuse-over-io_uring (kernel 6.14 and later, where the fuse module's `enable_uring` is on). The
// kernel has a queue for each CPU and puts a request into the one where the caller runs; a reactor that is
// pinned there answers it without waking a thread elsewhere, which is most of what a request costs otherwise.
//
// Each queue has a number of entries. An entry is memory into which the kernel writes a request; the answer
// is made in the same memory, and one command gives the answer and asks for the next request. The payload (a
// name, data to write) arrives at a page's start with room before it, where header and fixed part are copied
// so that libfuse finds one piece. Answers of READ and READDIR are made in the payload itself.
//
// FORGET and INTERRUPT still come by /dev/fuse: one reactor of the connection reads them there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/huge_memory.h"
#include "engine/ring/async_event.h"
#include "engine/ring/reactor.h"
#include "fs/fuse/client_places.h"
#include "fs/fuse/dev_fuse_transport.h"
#include "fs/fuse/message_pool.h"
#include "fs/fuse/queue_shares.h"
#include "fs/fuse/transport.h"

namespace varve {

namespace fuse_uring {
enum class Command : uint32_t;
}

struct UringTransportOptions {
  // Of the kernel's queues, whose number is that of possible CPUs, those that this transport answers. Every
  // queue must be some transport's, or no request is ever sent.
  std::vector<uint16_t> queues;
  // Requests that a queue can have in the daemon at once; each costs 1 MiB of memory once it has been used
  // for that much.
  uint32_t entries_per_queue = 32;
  // Reads /dev/fuse as well: one of a connection's transports.
  bool serves_forgets = false;
};

class UringTransport;

// What the transports of one connection share: who answers clients that move (client_places.h) and queues
// that are deep (queue_shares.h).
struct UringPlaces {
  // `reactors`: of all transports, each pinned to a CPU. Transports hold their places in it as numbers.
  explicit UringPlaces(std::vector<Reactor*> of_all)
      : reactors(std::move(of_all)), transports(reactors.size()), shares(reactors.size()) {}

  const std::vector<Reactor*> reactors;
  // Each enters itself, before any of them serves.
  std::vector<UringTransport*> transports;
  ClientPlaces clients;
  QueueShares shares;
};

class UringTransport final : public Transport {
 public:
  // Of reactor `number` of `places`, which must outlive it and have wide entries. `descriptor` is a
  // connection's, nonblocking.
  UringTransport(int descriptor, UringTransportOptions options, std::shared_ptr<UringPlaces> places,
                 uint16_t number);
  // Preconditions: Serve has ended for all transports of `places`, or the reactors have.
  ~UringTransport() override;
  UringTransport(const UringTransport&) = delete;
  UringTransport& operator=(const UringTransport&) = delete;

  uint32_t init_flags2() const override;
  Task<Status> Register(RequestSink& sink) override;
  // Ends when every request of its queues has been answered and every entry has come back.
  Task<Status> Serve(RequestSink& sink) override;
  int Send(const iovec* parts, int count) override;
  std::string_view name() const override { return "fuse-over-io_uring"; }
  uint64_t clients_kept() const override { return clients_kept_.load(std::memory_order_relaxed); }
  uint64_t requests_passed() const override { return requests_passed_.load(std::memory_order_relaxed); }

 private:
  // Of one transport's queues, its home. Whichever transport has it is the only one to touch it.
  class Entry;

  void Submit(Entry& entry, fuse_uring::Command command);
  // A request has come by the entry: it is answered here, or passed on.
  void Receive(Entry& entry);
  void Answer(Entry& entry);
  Task<void> AnswerPassed(Entry& entry);
  // What is submitted after it wakes a client while no other CPU is idle.
  void NudgeOthers();
  // One of the entries whose home this is has come back for good, at whichever transport.
  void End(int error);

  const int descriptor_;
  Reactor& reactor_;
  const UringTransportOptions options_;
  const std::shared_ptr<UringPlaces> places_;
  const uint16_t number_;
  DevFuseTransport dev_fuse_;
  RequestSink* sink_ = nullptr;
  // One piece of memory for all payloads, mapped: pages that no request has used cost nothing.
  HugeMemory memory_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::atomic<size_t> live_entries_{0};
  std::atomic<int> first_error_{0};
  std::atomic<uint64_t> clients_kept_{0};
  std::atomic<uint64_t> requests_passed_{0};
  AsyncEvent ended_;
};

// Whether the kernel's INIT offers it.
bool OffersFuseUring(std::span<const char> init_message);
// Queues that the kernel makes for a connection: its possible CPUs. 0 when it does not say.
uint32_t FuseUringQueues();
// Whether the fuse module is there and lets connections use it: when not, what to do.
Status FuseUringEnabled();

}  // namespace varve
