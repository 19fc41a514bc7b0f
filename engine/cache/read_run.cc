#include "engine/cache/read_run.h"

namespace varve {

namespace {

class ReadBuffer final : public ReadMemory {
 public:
  explicit ReadBuffer(AlignedBuffer buffer) : buffer_(std::move(buffer)) {}
  std::span<std::byte> span() { return buffer_.span(); }

 private:
  AlignedBuffer buffer_;
};

}  // namespace

ReadRun ReadRun::ForBlocksThatPass(size_t bytes, size_t grain) {
  auto* const memory = new ReadBuffer(AlignedBuffer(bytes, grain));
  return {memory, memory->span()};
}

ReadRun::~ReadRun() {
  if (memory_ != nullptr) {
    memory_->Drop();
  }
}

BlockRef ReadRun::Block(size_t offset, uint32_t bytes) const {
  char* const data = reinterpret_cast<char*>(bytes_.data()) + offset;
  return memory_ != nullptr ? BlockRef::InMemory(*memory_, data, bytes) : BlockRef::CopyOf({data, bytes});
}

}  // namespace varve
