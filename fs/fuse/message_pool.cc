#include "fs/fuse/message_pool.h"

#include <cstdlib>

#include "engine/base/check.h"

namespace varve {

namespace {

// What a burst leaves behind: more is given back to the system.
constexpr size_t kIdleBuffersMax = 8;
constexpr size_t kPageBytes = 4096;

void Free(MessageBuffer& buffer) {
  std::free(buffer.bytes.data());
}

}  // namespace

MessageLease::MessageLease(MessageBuffer& buffer) : buffer_(&buffer) {
  ++buffer_->leases;
}

MessageLease::MessageLease(const MessageLease& other) : buffer_(other.buffer_) {
  if (buffer_ != nullptr) {
    ++buffer_->leases;
  }
}

MessageLease::~MessageLease() {
  if (buffer_ != nullptr && --buffer_->leases == 0 && buffer_->pool != nullptr) {
    buffer_->pool->Return(buffer_);
  }
}

MessagePool::~MessagePool() {
  Check(leased_ == 0, "a message outlives its pool");
  for (const auto& buffer : idle_) {
    Free(*buffer);
  }
}

MessageLease MessagePool::Take() {
  std::unique_ptr<MessageBuffer> buffer;
  if (idle_.empty()) {
    buffer = std::make_unique<MessageBuffer>();
    buffer->pool = this;
    void* const memory = std::aligned_alloc(kPageBytes, kMessageBytesMax);
    Check(memory != nullptr, "no memory for a request");
    buffer->bytes = {static_cast<char*>(memory), kMessageBytesMax};
  } else {
    buffer = std::move(idle_.back());
    idle_.pop_back();
  }
  ++leased_;
  return MessageLease(*buffer.release());
}

void MessagePool::Return(MessageBuffer* buffer) {
  --leased_;
  if (idle_.size() < kIdleBuffersMax) {
    idle_.emplace_back(buffer);
    return;
  }
  Free(*buffer);
  delete buffer;
}

}  // namespace varve
