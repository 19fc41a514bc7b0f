#include "fs/fuse/uring_transport.h"

#include <fmt/format.h>
#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "engine/base/check.h"
#include "engine/ring/spawn_on.h"
#include "fs/fuse/capabilities.h"
#include "fs/fuse/fuse_library.h"
#include "fs/fuse/uring_protocol.h"

namespace varve {

namespace {

constexpr char kModuleParameter[] = "/sys/module/fuse/parameters/enable_uring";
constexpr char kPossibleCpus[] = "/sys/devices/system/cpu/possible";

// Marks the numbers that these transports give requests: the entry's, and the number of its home. The
// kernel's own count up from 0.
constexpr uint64_t kOwnUnique = uint64_t{1} << 63;
constexpr int kHomeShift = 32;
constexpr uint64_t kHomeMask = UINT16_MAX;
constexpr uint64_t kIndexMask = UINT32_MAX;

constexpr size_t kWideEntryBytes = 2 * sizeof(io_uring_sqe);
constexpr size_t kCommandOffset = offsetof(io_uring_sqe, cmd);

// With more, that many useless wakings would cost more than they bring.
constexpr size_t kNudgedReactorsMax = 4;

constexpr size_t kEntryBytes = kMessageBytesMax;
static_assert(kMessageHeaderBytesMax >= sizeof(fuse_in_header) + fuse_uring::kFixedPartBytesMax);
static_assert(sizeof(fuse_in_header) <= fuse_uring::kInOutBytes);

}  // namespace

// Life: registered -> (a request arrives -> answered and registered again)... -> ended by an error, which is
// ENOTCONN when the connection ends.
class UringTransport::Entry final : public Completion {
 public:
  Entry(UringTransport& home, size_t index, uint16_t queue, std::span<char> memory)
      : home_(home), at_(&home), index_(index), queue_(queue), memory_(memory) {
    parts_[0] = {&header_, sizeof(header_)};
    parts_[1] = {payload().data(), payload().size()};
    message_.memory = &home.memory_;
  }

  UringTransport& home() const { return home_; }
  // Who has it: requests come there.
  UringTransport& at() const { return *at_; }
  void PassTo(UringTransport& at) { at_ = &at; }

  uint16_t queue() const { return queue_; }
  const iovec* parts() const { return parts_; }
  std::span<char> payload() const { return memory_.subspan(kMessageHeaderBytesMax); }
  uint64_t commit_id() const { return commit_id_; }
  bool holds_request() const { return holds_request_; }

  // Of the request that has come.
  uint32_t opcode() const {
    fuse_in_header in;
    std::memcpy(&in, header_.in_out, sizeof(in));
    return in.opcode;
  }
  // The request as one piece; its number is this entry's. Empty when the kernel's lengths make no sense.
  std::span<char> TakeRequest() {
    fuse_in_header in;
    std::memcpy(&in, header_.in_out, sizeof(in));
    unique_ = in.unique;
    client_ = in.pid;
    commit_id_ = header_.entry.commit_id;
    holds_request_ = true;
    const size_t payload_bytes = header_.entry.payload_bytes;
    const size_t head_bytes = in.len - std::min<size_t>(in.len, payload_bytes);
    if (payload_bytes > payload().size() || head_bytes < sizeof(in) ||
        head_bytes > sizeof(in) + fuse_uring::kFixedPartBytesMax) {
      return {};
    }
    in.unique = kOwnUnique | uint64_t{home_.number_} << kHomeShift | index_;
    char* const begin = payload().data() - head_bytes;
    std::memcpy(begin, &in, sizeof(in));
    std::memcpy(begin + sizeof(in), header_.fixed_part, head_bytes - sizeof(in));
    message_.bytes = {begin, head_bytes + payload().size()};
    message_.answer = payload_bytes == 0 ? payload() : std::span<char>();
    return {begin, head_bytes + payload_bytes};
  }
  MessageLease message() { return MessageLease(message_); }
  // The thread that asked; 0: the kernel for itself.
  uint32_t client() const { return client_; }
  // Of the request that it holds.
  bool keeps_client() const { return keeps_client_; }
  void KeepClient(bool keep) { keeps_client_ = keep; }

  // `parts`: a fuse_out_header, and what follows it.
  void TakeAnswer(const iovec* parts, int count) {
    fuse_out_header out;
    std::memcpy(&out, parts[0].iov_base, sizeof(out));
    out.unique = unique_;
    std::memcpy(header_.in_out, &out, sizeof(out));
    size_t used = 0;
    for (int i = 1; i < count; ++i) {
      char* const to = payload().data() + used;
      used += parts[i].iov_len;
      Check(used <= payload().size(), "an answer is larger than any request may ask for");
      if (parts[i].iov_base != to) {
        // What is sent may lie in the request itself.
        std::memmove(to, parts[i].iov_base, parts[i].iov_len);
      }
    }
    header_.entry.flags = 0;
    header_.entry.payload_bytes = static_cast<uint32_t>(used);
    holds_request_ = false;
  }

 private:
  void OnComplete(int32_t result, uint32_t) override {
    if (result == 0) {
      at_->Receive(*this);
    } else {
      home_.End(-result);
    }
  }

  UringTransport& home_;
  UringTransport* at_;
  const size_t index_;
  const uint16_t queue_;
  // Room for headers, then the payload.
  const std::span<char> memory_;
  fuse_uring::RequestHeader header_ = {};
  iovec parts_[2];
  MessageBuffer message_;
  uint64_t unique_ = 0;
  uint64_t commit_id_ = 0;
  uint32_t client_ = 0;
  bool keeps_client_ = false;
  bool holds_request_ = false;
};

UringTransport::UringTransport(int descriptor, UringTransportOptions options,
                               std::shared_ptr<UringPlaces> places, uint16_t number)
    : descriptor_(descriptor),
      reactor_(*places->reactors[number]),
      options_(std::move(options)),
      places_(std::move(places)),
      number_(number),
      dev_fuse_(descriptor, reactor_, DevFuseWaking::kForgets),
      memory_(std::max<size_t>(options_.queues.size() * options_.entries_per_queue, 1) * kEntryBytes) {
  const size_t count = options_.queues.size() * options_.entries_per_queue;
  for (size_t i = 0; i < count; ++i) {
    entries_.push_back(std::make_unique<Entry>(*this, i, options_.queues[i / options_.entries_per_queue],
                                               memory_.bytes().subspan(i * kEntryBytes, kEntryBytes)));
  }
  places_->transports[number] = this;
}

UringTransport::~UringTransport() = default;

uint32_t UringTransport::init_flags2() const {
  return fuse_uring::kInitFlag2;
}

Task<Status> UringTransport::Register(RequestSink& sink) {
  sink_ = &sink;
  Executor& home = Executor::Current();
  co_await reactor_.Switch();
  live_entries_ = entries_.size();
  for (const auto& entry : entries_) {
    Submit(*entry, fuse_uring::Command::kRegister);
  }
  // Entries that the kernel refuses complete at once, the others when a request comes: what is submitted
  // after them completes after every refusal.
  co_await reactor_.Submit({.opcode = IORING_OP_NOP});
  const int error = first_error_;
  co_await home.Switch();
  if (error != 0) {
    co_return DeviceError(fmt::format(
        "the kernel offers fuse-over-io_uring, and then refuses it: {}; mount with -o transport=devfuse",
        std::strerror(error)));
  }
  co_return OkStatus();
}

Task<Status> UringTransport::Serve(RequestSink& sink) {
  Status served;
  if (options_.serves_forgets) {
    served = co_await dev_fuse_.Serve(sink);
  }
  co_await ended_.Wait();
  co_return served;
}

void UringTransport::Submit(Entry& entry, fuse_uring::Command command) {
  io_uring_sqe* const sqe = reactor_.Prepare(&entry);
  const bool registers = command == fuse_uring::Command::kRegister;
  io_uring_prep_rw(IORING_OP_URING_CMD, sqe, descriptor_, registers ? entry.parts() : nullptr,
                   registers ? 2 : 0, 0);
  sqe->cmd_op = static_cast<uint32_t>(command);
  fuse_uring::CommandRequest request = {};
  request.queue = entry.queue();
  request.commit_id = registers ? 0 : entry.commit_id();
  // A wide entry ends with 80 bytes of command, and is as the ring's last user left it.
  char* const to = reinterpret_cast<char*>(sqe) + kCommandOffset;
  std::memset(to, 0, kWideEntryBytes - kCommandOffset);
  std::memcpy(to, &request, sizeof(request));
}

void UringTransport::Receive(Entry& entry) {
  const std::vector<Reactor*>& reactors = places_->reactors;
  const auto sleeps = [&reactors](uint16_t other) { return reactors[other]->Sleeps(); };
  const uint16_t place =
      places_->shares.PlaceFor(entry.home().number_, number_, entry.opcode() == FUSE_READ, sleeps);
  if (place == number_) {
    Answer(entry);
    return;
  }
  requests_passed_.fetch_add(1, std::memory_order_relaxed);
  UringTransport& other = *places_->transports[place];
  entry.PassTo(other);
  SpawnOn(other.reactor_, other.AnswerPassed(entry));
}

Task<void> UringTransport::AnswerPassed(Entry& entry) {
  Answer(entry);
  co_return;
}

void UringTransport::Answer(Entry& entry) {
  const std::span<char> request = entry.TakeRequest();
  if (request.empty()) {
    fuse_out_header refused = {};
    refused.len = sizeof(refused);
    refused.error = -EIO;
    const iovec part = {&refused, sizeof(refused)};
    entry.TakeAnswer(&part, 1);
    Submit(entry, fuse_uring::Command::kCommitAndFetch);
    return;
  }
  const uint16_t home = entry.home().number_;
  places_->shares.Begin(home, number_);
  const size_t reactors = places_->reactors.size();
  entry.KeepClient(reactors > 1 && reactors <= kNudgedReactorsMax &&
                   places_->clients.IsToBeKept(entry.client(), home));
  const MessageLease message = entry.message();
  message.ExpectBytes(request.size());
  sink_->Process(message, request.size());
}

int UringTransport::Send(const iovec* parts, int count) {
  fuse_out_header header;
  std::memcpy(&header, parts[0].iov_base, sizeof(header));
  if ((header.unique & kOwnUnique) == 0) {
    return dev_fuse_.Send(parts, count);
  }
  const uint64_t home = header.unique >> kHomeShift & kHomeMask;
  const uint64_t index = header.unique & kIndexMask;
  Check(home < places_->transports.size() && index < places_->transports[home]->entries_.size(),
        "an answer to nobody's request");
  Entry& entry = *places_->transports[home]->entries_[index];
  Check(&entry.at() == this && entry.holds_request(), "an answer without a request");
  entry.TakeAnswer(parts, count);
  places_->shares.End(static_cast<uint16_t>(home), number_);
  if (entry.keeps_client()) {
    NudgeOthers();
  }
  Submit(entry, fuse_uring::Command::kCommitAndFetch);
  return 0;
}

void UringTransport::NudgeOthers() {
  clients_kept_.fetch_add(1, std::memory_order_relaxed);
  for (Reactor* const reactor : places_->reactors) {
    if (reactor != &reactor_) {
      reactor_.Nudge(*reactor);
    }
  }
}

void UringTransport::End(int error) {
  int none = 0;
  first_error_.compare_exchange_strong(none, error);
  if (live_entries_.fetch_sub(1) == 1) {
    ended_.Set();
  }
}

bool OffersFuseUring(std::span<const char> init_message) {
  return (OfferedFlags2(init_message) & fuse_uring::kInitFlag2) != 0;
}

uint32_t FuseUringQueues() {
  // "0-3", or pieces of it with commas. What counts is how many there are, not how far they reach.
  std::ifstream file(kPossibleCpus);
  std::string list;
  file >> list;
  uint32_t queues = 0;
  for (const char* at = list.data(); at < list.data() + list.size(); ++at) {
    const char* const end = list.data() + list.size();
    uint32_t first = 0;
    at = std::from_chars(at, end, first).ptr;
    uint32_t last = first;
    if (at < end && *at == '-') {
      at = std::from_chars(at + 1, end, last).ptr;
    }
    queues += last >= first ? last - first + 1 : 0;
  }
  return queues;
}

Status FuseUringEnabled() {
  std::ifstream file(kModuleParameter);
  char enabled = 'N';
  if (!(file >> enabled)) {
    return Unsupported("this kernel has no fuse-over-io_uring (Linux 6.14 and later have it)");
  }
  if (enabled != 'Y' && enabled != '1') {
    return Unsupported(
        fmt::format("fuse-over-io_uring is switched off; as root: echo 1 > {}", kModuleParameter));
  }
  return OkStatus();
}

}  // namespace varve
