#include "fs/fuse/message_pool.h"

#include <cstdlib>

#include "engine/base/check.h"

namespace varve {

namespace {

constexpr size_t kPageBytes = 4096;
static_assert(kMessageBytesMax % kPageBytes == 0);

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
  for (const std::unique_ptr<MessageBuffer>& buffer : spare_) {
    std::free(buffer->bytes.data());
  }
}

MessageLease MessagePool::Take() {
  std::unique_ptr<MessageBuffer> buffer;
  if (!idle_.empty()) {
    buffer = std::move(idle_.back());
    idle_.pop_back();
  } else if (!spare_.empty()) {
    buffer = std::move(spare_.back());
    spare_.pop_back();
  } else {
    buffer = Make();
  }
  ++leased_;
  return MessageLease(*buffer.release());
}

std::unique_ptr<MessageBuffer> MessagePool::Make() {
  auto buffer = std::make_unique<MessageBuffer>();
  buffer->pool = this;
  if (kept_buffers_ < kKeptBuffers) {
    if (!memory_) {
      memory_.emplace(kKeptBuffers * kMessageBytesMax);
    }
    buffer->memory = &*memory_;
    buffer->bytes = memory_->bytes().subspan(kept_buffers_ * kMessageBytesMax, kMessageBytesMax);
    ++kept_buffers_;
  } else {
    void* const memory = std::aligned_alloc(kPageBytes, kMessageBytesMax);
    Check(memory != nullptr, "no memory for a request");
    buffer->bytes = {static_cast<char*>(memory), kMessageBytesMax};
  }
  return buffer;
}

void MessagePool::Return(MessageBuffer* buffer) {
  --leased_;
  const size_t spare_max = buffer->used_bytes <= kSmallBytesMax ? kSmallSpareBuffers : kSpareBuffers;
  if (buffer->memory != nullptr) {
    idle_.emplace_back(buffer);
  } else if (spare_.size() < spare_max) {
    spare_.emplace_back(buffer);
  } else {
    std::free(buffer->bytes.data());
    delete buffer;
  }
}

}  // namespace varve
