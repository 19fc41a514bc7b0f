#include "tests/sim/fs_client.h"

#include <stdio.h>

#include <iterator>
#include <memory>
#include <utility>

#include "tests/sim/tree_reader.h"

namespace varve::sim {

namespace {

constexpr uint64_t kNames = 12;
constexpr uint64_t kNodesKept = 150;

bool IsFault(const Status& status) {
  return status.Is(ErrorCode::kDeviceError) || status.Is(ErrorCode::kCorruption) ||
         status.Is(ErrorCode::kReadOnly) || status.Is(ErrorCode::kCancelled);
}

}  // namespace

void FsClient::Restart(ModelPtr root) {
  root_ = std::move(root);
  // The run that made the directory holds its lookup.
  root_->lookups = 1;
  known_.clear();
  stopped_ = false;
}

Task<void> FsClient::Run(FileSystem& fs, uint64_t operations) {
  fs_ = &fs;
  for (uint64_t i = 0; i < operations && !stopped_ && !world_.device.off(); ++i) {
    if (world_.failed()) {
      break;
    }
    ++world_.figures.operations;
    co_await RunOne();
  }
  // Whoever has no name any more goes with the last lookup.
  while (!known_.empty()) {
    Forget();
  }
}

std::string FsClient::DrawName() {
  std::string name = "n" + std::to_string(random_.Below(kNames));
  return random_.OneIn(50) ? name + std::string(240, 'x') : name;
}

Task<bool> FsClient::Know(ModelPtr parent, std::string name, ModelPtr node) {
  if (node->lookups > 0) {
    co_return true;
  }
  const Result<Attributes> found = co_await fs_->Lookup(parent->inode, name);
  if (!ReadDone("lookup", found.status())) {
    co_return false;
  }
  if (node->inode.value != 0 && found->inode != node->inode) {
    world_.trace.Fail("client {}: inode {} of {} has become {}", number_, node->inode.value, name,
                      found->inode.value);
  }
  Took(node, found);
  co_return true;
}

void FsClient::Took(const ModelPtr& node, const Result<Attributes>& made) {
  if (made.ok()) {
    node->inode = made->inode;
    if (node->lookups++ == 0) {
      known_.push_back(node);
    }
  }
}

Task<ModelPtr> FsClient::DrawDirectory() {
  ModelPtr at = root_;
  while (!random_.OneIn(3)) {
    std::vector<std::pair<std::string, ModelPtr>> below;
    for (const auto& [name, child] : at->children) {
      if (child->is_directory()) {
        below.emplace_back(name, child);
      }
    }
    if (below.empty()) {
      break;
    }
    const auto [name, child] = below[random_.Below(below.size())];
    const bool known = co_await Know(at, name, child);
    if (!known) {
      co_return nullptr;
    }
    at = child;
  }
  co_return at;
}

Task<FsClient::Spot> FsClient::DrawSpot() {
  Spot spot;
  spot.directory = co_await DrawDirectory();
  spot.name = DrawName();
  if (spot.directory == nullptr) {
    co_return spot;
  }
  auto& children = spot.directory->children;
  if (!random_.OneIn(4) && !children.empty()) {
    spot.name =
        std::next(children.begin(), static_cast<std::ptrdiff_t>(random_.Below(children.size())))->first;
  }
  const auto found = children.find(spot.name);
  if (found != children.end()) {
    spot.node = found->second;
    const bool known = co_await Know(spot.directory, spot.name, spot.node);
    if (!known) {
      spot.directory = nullptr;
    }
  }
  co_return spot;
}

Task<ModelPtr> FsClient::DrawNode() {
  if (random_.OneIn(4) && !known_.empty()) {
    co_return known_[random_.Below(known_.size())];
  }
  const Spot spot = co_await DrawSpot();
  if (spot.directory == nullptr) {
    co_return nullptr;
  }
  co_return spot.node != nullptr ? spot.node : spot.directory;
}

void FsClient::Conclude(std::string what, const Status& got, const Apply& apply) {
  world_.trace.Add("client {}: {}: {}", number_, what, got.ToString());
  if (fills_device && got.Is(ErrorCode::kNoSpace)) {
    // Nothing was done.
    ++world_.figures.refused;
    oracle_.Acknowledged(number_, TreeDigest(*root_));
    return;
  }
  const ModelFs::Outcome expected = apply();
  const uint64_t digest = TreeDigest(*root_);
  if (IsFault(got)) {
    world_.OnError(what, got);
    oracle_.Unknown(number_, digest);
    stopped_ = true;
    return;
  }
  if (expected ? !got.Is(*expected) : !got.ok()) {
    world_.trace.Fail("client {}: {}: wanted {}, got {}", number_, what,
                      expected ? ErrorCodeName(*expected) : "ok", got.ToString());
  }
  oracle_.Acknowledged(number_, digest);
}

bool FsClient::ReadDone(std::string_view what, const Status& got) {
  if (got.ok()) {
    return true;
  }
  if (IsFault(got)) {
    world_.OnError(what, got);
  } else {
    world_.trace.Fail("client {}: {}: {}", number_, what, got.ToString());
  }
  return false;
}

Task<void> FsClient::RunOne() {
  if (fills_device && random_.OneIn(2)) {
    co_await Write();
    co_return;
  }
  const uint64_t dice = random_.Below(40);
  if (dice < 7) {
    co_await Make(S_IFREG);
  } else if (dice < 10) {
    co_await Make(S_IFDIR);
  } else if (dice == 10) {
    co_await Make(random_.OneIn(2) ? S_IFLNK : S_IFIFO);
  } else if (dice < 13) {
    co_await Link();
  } else if (dice < 17) {
    co_await Remove();
  } else if (dice < 21) {
    co_await Rename();
  } else if (dice < 27) {
    co_await Write();
  } else if (dice < 29) {
    co_await Truncate();
  } else if (dice == 29) {
    co_await ChangeMode();
  } else if (dice == 30) {
    co_await Allocate();
  } else if (dice == 31) {
    co_await Xattr();
  } else if (dice < 34) {
    co_await Sync();
  } else if (dice < 36) {
    co_await Read();
  } else if (dice < 38) {
    co_await List();
  } else if (dice == 38) {
    Forget();
  } else {
    co_await Executor::Current().Sleep(random_.Below(1'000'000));
  }
}

Task<void> FsClient::Make(uint32_t type) {
  const Spot spot = co_await DrawSpot();
  if (spot.directory == nullptr || known_.size() > kNodesKept) {
    co_return;
  }
  auto node = std::make_shared<ModelNode>();
  node->mode = type | (type == S_IFLNK ? 0777 : static_cast<uint32_t>(random_.Below(01000)));
  node->uid = kCaller.uid;
  node->gid = kCaller.gid;
  Result<Attributes> made = NotFound("nothing was done");
  oracle_.Begin(number_);
  if (type == S_IFLNK) {
    node->content = std::string(1 + random_.Below(200), 't');
    made = co_await fs_->MakeSymlink(spot.directory->inode, spot.name, node->content, kCaller);
  } else if (type == S_IFDIR) {
    made = co_await fs_->MakeDirectory(spot.directory->inode, spot.name, node->mode, kCaller);
  } else {
    made = co_await fs_->MakeNode(spot.directory->inode, spot.name, node->mode, 0, kCaller);
  }
  Took(node, made);
  Conclude(fmt::format("make {:o} {}", node->mode, spot.name), made.status(),
           [&] { return ModelFs::Make(spot.directory, spot.name, node, Now()); });
}

Task<void> FsClient::Link() {
  const Spot from = co_await DrawSpot();
  const Spot to = co_await DrawSpot();
  if (from.directory == nullptr || to.directory == nullptr || from.node == nullptr) {
    co_return;
  }
  oracle_.Begin(number_);
  const Result<Attributes> linked = co_await fs_->Link(from.node->inode, to.directory->inode, to.name);
  Took(from.node, linked);
  Conclude(fmt::format("link {} as {}", from.name, to.name), linked.status(),
           [&] { return ModelFs::Link(from.node, to.directory, to.name, Now()); });
}

Task<void> FsClient::Remove() {
  const Spot spot = co_await DrawSpot();
  if (spot.directory == nullptr) {
    co_return;
  }
  const bool is_directory = spot.node != nullptr && spot.node->is_directory();
  const bool as_directory = is_directory ? !random_.OneIn(5) : random_.OneIn(5);
  oracle_.Begin(number_);
  Status removed;
  if (as_directory) {
    removed = co_await fs_->RemoveDirectory(spot.directory->inode, spot.name);
  } else {
    removed = co_await fs_->Unlink(spot.directory->inode, spot.name);
  }
  if (removed.Is(ErrorCode::kNoSpace)) {
    world_.trace.Fail("client {}: there is no space left to remove {}", number_, spot.name);
  }
  Conclude(fmt::format("{} {}", as_directory ? "rmdir" : "unlink", spot.name), removed,
           [&] { return ModelFs::Remove(spot.directory, spot.name, as_directory, Now()); });
}

Task<void> FsClient::Rename() {
  const Spot from = co_await DrawSpot();
  const Spot to = co_await DrawSpot();
  if (from.directory == nullptr || to.directory == nullptr) {
    co_return;
  }
  const uint64_t kind = random_.Below(4);
  const uint32_t flags = kind == 0 ? RENAME_NOREPLACE : kind == 1 ? RENAME_EXCHANGE : 0;
  oracle_.Begin(number_);
  const Status renamed =
      co_await fs_->Rename(from.directory->inode, from.name, to.directory->inode, to.name, flags);
  Conclude(fmt::format("rename {} to {}, flags {}", from.name, to.name, flags), renamed, [&] {
    return ModelFs::Rename(from.directory, from.name, to.directory, to.name, kind == 0, kind == 1, Now());
  });
}

Task<void> FsClient::Sync() {
  const Counts covered = oracle_.acknowledged();
  const Status synced = co_await fs_->Sync();
  world_.trace.Add("client {}: sync {}: {}", number_, ToString(covered), synced.ToString());
  if (!synced.ok()) {
    world_.OnError("sync", synced);
  } else if (!world_.device.off()) {
    oracle_.Durable(covered);
  }
}

Task<void> FsClient::List() {
  const ModelPtr directory = co_await DrawDirectory();
  if (directory == nullptr) {
    co_return;
  }
  const Result<std::vector<std::string>> names = co_await NamesIn(*fs_, directory->inode);
  if (!ReadDone("list", names.status())) {
    co_return;
  }
  std::vector<std::string> expected;
  for (const auto& [name, child] : directory->children) {
    expected.push_back(name);
  }
  if (*names != expected) {
    world_.trace.Fail("client {}: a directory lists {} names, and has {}", number_, names->size(),
                      expected.size());
  }
}

void FsClient::Forget() {
  for (uint64_t i = 0; i < 10 && !known_.empty(); ++i) {
    const size_t at = random_.Below(known_.size());
    const ModelPtr node = known_[at];
    fs_->Forget(node->inode, node->lookups);
    node->lookups = 0;
    known_[at] = known_.back();
    known_.pop_back();
  }
}

}  // namespace varve::sim
