// FsClient's operations on one file: its bytes and its attributes.
#include <fcntl.h>
#include <linux/falloc.h>

#include <algorithm>
#include <span>
#include <utility>

#include "tests/sim/fs_client.h"
#include "tests/support/read_as_mounted.h"

namespace varve::sim {

uint64_t FsClient::DrawOffset() {
  return random_.OneIn(30) ? random_.Below(100'000) : random_.Below(10'000);
}

std::string FsClient::DrawBytes() {
  const uint64_t kind = random_.Below(200);
  const uint64_t length = fills_device && kind < 100 ? 100'000 + random_.Below(800'000)
                          : kind == 0                ? 300'000
                          : kind < 40                ? 1 + random_.Below(30'000)
                                                     : 1 + random_.Below(900);
  std::string bytes = fmt::format("{}.{}.", number_, ++values_);
  bytes.append(length, static_cast<char>('a' + random_.Below(26)));
  return bytes;
}

Task<void> FsClient::Write() {
  const ModelPtr node = co_await DrawNode();
  if (node == nullptr || !node->is_file()) {
    co_return;
  }
  const uint64_t offset = random_.OneIn(2) ? node->content.size() : DrawOffset();
  const std::string data = DrawBytes();
  WriteFlags flags;
  flags.durable = random_.OneIn(10);
  oracle_.Begin(number_);
  Counts covered = oracle_.acknowledged();
  ++covered[number_];
  const Result<size_t> written = co_await fs_->Write(node->inode, offset, data, flags);
  const bool durable = flags.durable && written.ok() && !world_.device.off();
  Conclude(fmt::format("write {}+{} into inode {}{}", offset, data.size(), node->inode.value,
                       flags.durable ? ", durable" : ""),
           written.status(), [&]() -> ModelFs::Outcome {
             node->content.resize(std::max<size_t>(node->content.size(), offset + data.size()));
             node->content.replace(offset, data.size(), data);
             return {};
           });
  if (durable) {
    oracle_.Durable(covered);
  }
}

Task<void> FsClient::Truncate() {
  const ModelPtr node = co_await DrawNode();
  if (node == nullptr || !node->is_file()) {
    co_return;
  }
  const uint64_t kind = random_.Below(4);
  SetAttributes changes;
  changes.size = kind == 0 ? 0 : kind == 1 ? DrawOffset() : random_.Below(node->content.size() + 10);
  oracle_.Begin(number_);
  const Result<Attributes> truncated = co_await fs_->ChangeAttributes(node->inode, changes);
  Conclude(fmt::format("truncate inode {} to {}", node->inode.value, *changes.size), truncated.status(),
           [&]() -> ModelFs::Outcome {
             node->content.resize(*changes.size);
             return {};
           });
}

Task<void> FsClient::ChangeMode() {
  const ModelPtr node = co_await DrawNode();
  if (node == nullptr || node == root_) {
    co_return;
  }
  SetAttributes changes;
  changes.mode = static_cast<uint32_t>(random_.Below(01000));
  changes.gid = static_cast<uint32_t>(random_.Below(5));
  oracle_.Begin(number_);
  const Result<Attributes> changed = co_await fs_->ChangeAttributes(node->inode, changes);
  Conclude(fmt::format("chmod inode {} {:o}", node->inode.value, *changes.mode), changed.status(),
           [&]() -> ModelFs::Outcome {
             node->mode = (node->mode & S_IFMT) | *changes.mode;
             node->gid = *changes.gid;
             return {};
           });
}

Task<void> FsClient::Allocate() {
  const ModelPtr node = co_await DrawNode();
  if (node == nullptr || !node->is_file()) {
    co_return;
  }
  const uint64_t offset = DrawOffset();
  const uint64_t length = 1 + random_.Below(20'000);
  const bool punch = random_.OneIn(2);
  const int mode = punch ? FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE : 0;
  oracle_.Begin(number_);
  const Status allocated = co_await fs_->Allocate(node->inode, mode, offset, length);
  Conclude(fmt::format("fallocate inode {} {}+{}, mode {}", node->inode.value, offset, length, mode),
           allocated, [&]() -> ModelFs::Outcome {
             std::string& content = node->content;
             if (punch && offset < content.size()) {
               const size_t zeros = std::min<size_t>(length, content.size() - offset);
               content.replace(offset, zeros, std::string(zeros, '\0'));
             } else if (!punch) {
               content.resize(std::max<size_t>(content.size(), offset + length));
             }
             return {};
           });
}

Task<void> FsClient::Xattr() {
  const ModelPtr node = co_await DrawNode();
  if (node == nullptr || node == root_) {
    co_return;
  }
  const std::string name = "user.x" + std::to_string(random_.Below(3));
  const bool exists = node->xattrs.count(name) != 0;
  oracle_.Begin(number_);
  if (random_.OneIn(3)) {
    const Status removed = co_await fs_->RemoveXattr(node->inode, name);
    Conclude(fmt::format("removexattr {} of inode {}", name, node->inode.value), removed,
             [&]() -> ModelFs::Outcome {
               node->xattrs.erase(name);
               return exists ? ModelFs::Outcome() : ErrorCode::kNoAttribute;
             });
    co_return;
  }
  const std::string value = fmt::format("{}", ++values_);
  const Status set = co_await fs_->SetXattr(node->inode, name, value, {});
  Conclude(fmt::format("setxattr {} of inode {}", name, node->inode.value), set, [&]() -> ModelFs::Outcome {
    node->xattrs[name] = value;
    return {};
  });
}

Task<void> FsClient::Read() {
  const ModelPtr node = co_await DrawNode();
  if (node == nullptr || !node->is_file()) {
    co_return;
  }
  const uint64_t offset = random_.Below(node->content.size() + 100);
  std::string into(random_.OneIn(2) ? 1 + random_.Below(300) : 1 + random_.Below(50'000), '?');
  const Result<size_t> read = co_await ReadAsMounted(*fs_, node->inode, offset, std::span<char>(into));
  if (!ReadDone("read", read.status())) {
    co_return;
  }
  const std::string want = offset < node->content.size() ? node->content.substr(offset, into.size()) : "";
  if (std::string_view(into).substr(0, *read) != want) {
    world_.trace.Fail("client {}: {} bytes at {} of inode {} are not what was written", number_, *read,
                      offset, node->inode.value);
  }
}

}  // namespace varve::sim
