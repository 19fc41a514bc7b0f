// Random operations on FileSystem and on a plain model of one: every answer and, now and then, the whole tree
// must be the same, through forgets, crashes and remounts.
// Long because: it is one operation after the other on the state they share.
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>

#include "engine/base/prng.h"
#include "fs/ops/check_namespace.h"
#include "tests/fs/ops/model_fs.h"
#include "tests/fs/ops/ops_fixture.h"

namespace varve {
namespace {

class FailingSink final : public NamespaceCheckSink {
 public:
  void Problem(const NamespaceProblem& problem) override {
    ADD_FAILURE() << "inode " << problem.inode.value << ": " << problem.what;
  }
  void Progress(uint64_t) override {}
};

class ModelRun {
 public:
  ModelRun(uint64_t seed, uint64_t waits_one_in)
      : prng_(seed), t_(MemoryStoreOptions{waits_one_in, seed}), store_options_{waits_one_in, seed} {
    t_model_.root()->mtime = t_model_.root()->ctime = Now();
  }

  void Run(int operations) {
    for (int i = 0; i < operations && !::testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE("operation " + std::to_string(i));
      t_.clock.Advance(1000);
      RunOne();
      if (prng_.OneIn(800)) {
        CompareAll();
      }
      if (prng_.OneIn(1500)) {
        Remount();
      }
    }
    Remount();
    CompareAll();
  }

 private:
  static constexpr uint32_t kNames = 14;

  int64_t Now() const { return t_.clock.WallNanos(); }
  std::string RandomName() {
    std::string name = "n" + std::to_string(prng_.Below(kNames));
    return prng_.OneIn(50) ? name + std::string(240, 'x') : name;
  }

  // Makes the filesystem know the node at `path` under the root, as a kernel does: by lookups from above.
  void Know(const ModelPtr& parent, const std::string& name, const ModelPtr& node) {
    if (node->lookups > 0) {
      return;
    }
    const Result<Attributes> found = t_.Run(t_.fs->Lookup(parent->inode, name));
    ASSERT_TRUE(found.ok()) << name << ": " << found.ToString();
    if (node->inode.value != 0) {
      EXPECT_EQ(found->inode, node->inode) << "an inode number has changed";
    }
    node->inode = found->inode;
    ++node->lookups;
    known_.push_back(node);
  }
  void Took(const ModelPtr& node, const Result<Attributes>& made) {
    if (made.ok()) {
      EXPECT_TRUE(node->inode.value == 0 || node->inode == made->inode);
      node->inode = made->inode;
      if (node->lookups++ == 0) {
        known_.push_back(node);
      }
    }
  }
  struct Spot {
    ModelPtr directory;
    std::string name;
    ModelPtr node;  // nullptr: the name is free
  };
  ModelPtr RandomDirectory() {
    ModelPtr at = t_model_.root();
    while (!prng_.OneIn(3)) {
      std::vector<std::pair<std::string, ModelPtr>> below;
      for (const auto& [name, child] : at->children) {
        if (child->is_directory()) {
          below.emplace_back(name, child);
        }
      }
      if (below.empty()) {
        break;
      }
      const auto& [name, child] = below[prng_.Below(below.size())];
      Know(at, name, child);
      at = child;
    }
    return at;
  }
  Spot RandomSpot() {
    Spot spot{RandomDirectory(), RandomName(), nullptr};
    if (!prng_.OneIn(4) && !spot.directory->children.empty()) {
      auto child = spot.directory->children.begin();
      std::advance(child, static_cast<long>(prng_.Below(spot.directory->children.size())));
      spot.name = child->first;
    }
    const auto found = spot.directory->children.find(spot.name);
    if (found != spot.directory->children.end()) {
      spot.node = found->second;
      Know(spot.directory, spot.name, spot.node);
    }
    return spot;
  }
  // Any node that may be operated on: by name, or one that has lost its names and is still known.
  ModelPtr RandomNode() {
    if (prng_.OneIn(4) && !known_.empty()) {
      return known_[prng_.Below(known_.size())];
    }
    const Spot spot = RandomSpot();
    return spot.node != nullptr ? spot.node : spot.directory;
  }

  void Expect(const ModelFs::Outcome& expected, const Status& got) {
    if (expected) {
      EXPECT_TRUE(got.Is(*expected)) << "wanted " << ErrorCodeName(*expected) << ", got " << got.ToString();
    } else {
      EXPECT_TRUE(got.ok()) << got.ToString();
    }
  }

  void RunOne() {
    switch (prng_.Below(20)) {
      case 0:
      case 1:
      case 2:
        return Make(S_IFREG);
      case 3:
        return Make(S_IFDIR);
      case 4:
        return Make(prng_.OneIn(2) ? S_IFLNK : S_IFIFO);
      case 5:
        return Link();
      case 6:
      case 7:
        return Remove();
      case 8:
      case 9:
        return Rename();
      case 10:
      case 11:
      case 12:
        return Write();
      case 13:
        return ReadSome(RandomNode());
      case 14:
        return Truncate();
      case 15:
        return ChangeAttributes();
      case 16:
        return Allocate();
      case 17:
        return Xattr();
      case 18:
        return Forget();
      default:
        return SeekOrTemporary();
    }
  }

  void Make(uint32_t type) {
    const Spot spot = RandomSpot();
    auto node = std::make_shared<ModelNode>();
    node->mode = type | (type == S_IFLNK ? 0777 : static_cast<uint32_t>(prng_.Below(01000)));
    node->uid = t_.caller.uid;
    node->gid = t_.caller.gid;
    Result<Attributes> made = NotFound("nothing was done");
    if (type == S_IFLNK) {
      node->content = std::string(1 + prng_.Below(200), 't');
      made = t_.Run(t_.fs->MakeSymlink(spot.directory->inode, spot.name, node->content, t_.caller));
    } else if (type == S_IFDIR) {
      made = t_.Run(t_.fs->MakeDirectory(spot.directory->inode, spot.name, node->mode, t_.caller));
    } else {
      made = t_.Run(t_.fs->MakeNode(spot.directory->inode, spot.name, node->mode, 0, t_.caller));
    }
    Expect(ModelFs::Make(spot.directory, spot.name, node, Now()), made.status());
    Took(node, made);
  }

  void Link() {
    const Spot from = RandomSpot();
    const Spot to = RandomSpot();
    if (from.node == nullptr) {
      return;
    }
    const Result<Attributes> linked = t_.Run(t_.fs->Link(from.node->inode, to.directory->inode, to.name));
    Expect(ModelFs::Link(from.node, to.directory, to.name, Now()), linked.status());
    Took(from.node, linked);
  }

  void Remove() {
    const Spot spot = RandomSpot();
    const bool as_directory =
        spot.node != nullptr && spot.node->is_directory() ? !prng_.OneIn(5) : prng_.OneIn(5);
    const Status removed = as_directory ? t_.Run(t_.fs->RemoveDirectory(spot.directory->inode, spot.name))
                                        : t_.Run(t_.fs->Unlink(spot.directory->inode, spot.name));
    Expect(ModelFs::Remove(spot.directory, spot.name, as_directory, Now()), removed);
  }

  void Rename() {
    const Spot from = RandomSpot();
    const Spot to = RandomSpot();
    const uint64_t kind = prng_.Below(4);
    const uint32_t flags = kind == 0 ? RENAME_NOREPLACE : kind == 1 ? RENAME_EXCHANGE : 0;
    const Status renamed =
        t_.Run(t_.fs->Rename(from.directory->inode, from.name, to.directory->inode, to.name, flags));
    Expect(ModelFs::Rename(from.directory, from.name, to.directory, to.name, kind == 0, kind == 1, Now()),
           renamed);
  }

  uint64_t RandomOffset() { return prng_.OneIn(20) ? prng_.Below(200'000) : prng_.Below(20'000); }
  std::string RandomBytes() {
    const uint64_t kind = prng_.Below(300);
    const uint64_t length = kind == 0   ? 1'000'000
                            : kind < 60 ? 1 + prng_.Below(30'000)
                                        : 1 + prng_.Below(900);
    return std::string(length, static_cast<char>('a' + prng_.Below(26)));
  }

  void Write() {
    const ModelPtr node = RandomNode();
    const uint64_t offset = prng_.OneIn(2) ? node->content.size() : RandomOffset();
    const std::string data = RandomBytes();
    WriteFlags flags;
    flags.kill_suid_sgid = prng_.OneIn(2);
    const Result<size_t> written = t_.Run(t_.fs->Write(node->inode, offset, data, flags));
    if (!node->is_file()) {
      return Expect(node->is_directory() ? ErrorCode::kIsDirectory : ErrorCode::kInvalidArgument,
                    written.status());
    }
    Expect({}, written.status());
    node->content.resize(std::max<size_t>(node->content.size(), offset + data.size()));
    node->content.replace(offset, data.size(), data);
    node->mtime = node->ctime = Now();
    if (flags.kill_suid_sgid) {
      node->mode &= ~static_cast<uint32_t>(S_ISUID | ((node->mode & S_IXGRP) ? S_ISGID : 0));
    }
    ReadSome(node);
  }

  void ReadSome(const ModelPtr& node) {
    if (!node->is_file()) {
      return;
    }
    const uint64_t offset = prng_.Below(node->content.size() + 100);
    const size_t length = prng_.OneIn(2) ? 1 + prng_.Below(300) : 1 + prng_.Below(50'000);
    const std::string got = t_.Read(node->inode, offset, length);
    const std::string want = offset < node->content.size() ? node->content.substr(offset, length) : "";
    EXPECT_TRUE(got == want) << "at " << offset << ", " << length << " bytes of " << node->content.size();
  }

  void Truncate() {
    const ModelPtr node = RandomNode();
    const uint64_t kind = prng_.Below(4);
    const uint64_t size = kind == 0 ? 0 : kind == 1 ? RandomOffset() : prng_.Below(node->content.size() + 10);
    const Status truncated = t_.Truncate(node->inode, size);
    if (!node->is_file()) {
      return Expect(node->is_directory() ? ErrorCode::kIsDirectory : ErrorCode::kInvalidArgument, truncated);
    }
    Expect({}, truncated);
    node->content.resize(size);
    node->mtime = node->ctime = Now();
  }

  void ChangeAttributes() {
    const ModelPtr node = RandomNode();
    SetAttributes changes;
    if (prng_.OneIn(2)) {
      changes.mode = static_cast<uint32_t>(prng_.Below(010000));
      node->mode = (node->mode & S_IFMT) | *changes.mode;
    }
    if (prng_.OneIn(3)) {
      changes.gid = static_cast<uint32_t>(prng_.Below(5));
      node->gid = *changes.gid;
    }
    node->ctime = Now();
    if (prng_.OneIn(3)) {
      changes.mtime = TimeChange{false, static_cast<int64_t>(prng_.Next())};
      node->mtime = changes.mtime->nanos;
    } else if (prng_.OneIn(3)) {
      changes.mtime = TimeChange{true, 0};
      node->mtime = Now();
    }
    const Result<Attributes> changed = t_.Run(t_.fs->ChangeAttributes(node->inode, changes));
    Expect({}, changed.status());
    CompareAttributes(*node, *changed);
  }

  void Allocate() {
    const ModelPtr node = RandomNode();
    if (!node->is_file()) {
      return;
    }
    const uint64_t offset = RandomOffset();
    const uint64_t length = 1 + prng_.Below(prng_.OneIn(10) ? 3'000'000 : 20'000);
    const bool keep = prng_.OneIn(2);
    const uint64_t kind = prng_.Below(3);
    const int mode = kind == 0 ? 0 : kind == 1 ? FALLOC_FL_PUNCH_HOLE : FALLOC_FL_ZERO_RANGE;
    const bool keeps = keep || kind == 1;
    const Status allocated =
        t_.Run(t_.fs->Allocate(node->inode, mode | (keeps ? FALLOC_FL_KEEP_SIZE : 0), offset, length));
    Expect({}, allocated);
    std::string& content = node->content;
    if (kind != 0 && offset < content.size()) {
      const size_t zeros = std::min<size_t>(length, content.size() - offset);
      content.replace(offset, zeros, std::string(zeros, '\0'));
    }
    if (!keeps && offset + length > content.size()) {
      content.resize(offset + length);
    }
    node->mtime = node->ctime = Now();
  }

  void Xattr() {
    const ModelPtr node = RandomNode();
    const std::string name = "user.x" + std::to_string(prng_.Below(4));
    const auto found = node->xattrs.find(name);
    const bool exists = found != node->xattrs.end();
    if (prng_.OneIn(3)) {
      const Status removed = t_.Run(t_.fs->RemoveXattr(node->inode, name));
      Expect(exists ? ModelFs::Outcome() : ErrorCode::kNoAttribute, removed);
      if (exists) {
        node->xattrs.erase(found);
        node->ctime = Now();
      }
      return;
    }
    const int flags = prng_.OneIn(3) ? XATTR_CREATE : prng_.OneIn(3) ? XATTR_REPLACE : 0;
    const std::string value(prng_.Below(100), 'v');
    const Status set = t_.Run(t_.fs->SetXattr(node->inode, name, value, {flags, false}));
    if (exists && flags == XATTR_CREATE) {
      return Expect(ErrorCode::kExists, set);
    }
    if (!exists && flags == XATTR_REPLACE) {
      return Expect(ErrorCode::kNoAttribute, set);
    }
    Expect({}, set);
    node->xattrs[name] = value;
    node->ctime = Now();
  }

  void Forget() {
    for (uint64_t i = 0; i < 10 && !known_.empty(); ++i) {
      const size_t at = prng_.Below(known_.size());
      const ModelPtr node = known_[at];
      t_.fs->Forget(node->inode, node->lookups);
      node->lookups = 0;
      known_[at] = known_.back();
      known_.pop_back();
    }
  }

  void SeekOrTemporary() {
    const ModelPtr node = RandomNode();
    if (prng_.OneIn(2)) {
      return MakeTemporary();
    }
    if (!node->is_file()) {
      return;
    }
    const uint64_t offset = prng_.Below(node->content.size() + 10);
    const Result<uint64_t> data = t_.Run(t_.fs->Seek(node->inode, offset, SEEK_DATA));
    const Result<uint64_t> hole = t_.Run(t_.fs->Seek(node->inode, offset, SEEK_HOLE));
    if (offset >= node->content.size()) {
      EXPECT_TRUE(data.Is(ErrorCode::kNoData));
      EXPECT_TRUE(hole.Is(ErrorCode::kNoData));
      return;
    }
    // Whatever is skipped as a hole must be zeros.
    const uint64_t data_at = data.ok() ? *data : node->content.size();
    EXPECT_GE(data_at, offset);
    EXPECT_EQ(node->content.substr(offset, data_at - offset).find_first_not_of('\0'), std::string::npos);
    ASSERT_TRUE(hole.ok()) << hole.ToString();
    EXPECT_GE(*hole, offset);
    EXPECT_LE(*hole, node->content.size());
  }

  void MakeTemporary() {
    const Spot spot = RandomSpot();
    const Result<Attributes> made = t_.Run(t_.fs->MakeTemporary(spot.directory->inode, 0640, t_.caller));
    ASSERT_TRUE(made.ok()) << made.ToString();
    auto node = std::make_shared<ModelNode>();
    node->mode = S_IFREG | 0640;
    node->uid = t_.caller.uid;
    node->gid = (spot.directory->mode & S_ISGID) ? spot.directory->gid : t_.caller.gid;
    node->nlink = 0;
    node->mtime = node->ctime = Now();
    Took(node, made);
    const std::string data = RandomBytes();
    ASSERT_TRUE(t_.Write(node->inode, 0, data).ok());
    node->content = data;
    if (prng_.OneIn(2)) {
      const Result<Attributes> linked = t_.Run(t_.fs->Link(node->inode, spot.directory->inode, spot.name));
      Expect(ModelFs::Link(node, spot.directory, spot.name, Now()), linked.status());
      Took(node, linked);
    }
  }

  void CompareAttributes(const ModelNode& node, const Attributes& got) {
    EXPECT_EQ(got.inode, node.inode);
    EXPECT_EQ(got.mode, node.mode);
    EXPECT_EQ(got.uid, node.uid);
    EXPECT_EQ(got.gid, node.gid);
    EXPECT_EQ(got.mtime_nanos, node.mtime);
    EXPECT_EQ(got.ctime_nanos, node.ctime);
    if (node.is_directory()) {
      EXPECT_EQ(got.nlink, node.parent == nullptr ? 0 : 2 + node.subdirectories());
    } else {
      EXPECT_EQ(got.nlink, node.nlink);
      EXPECT_EQ(got.size, node.content.size());
      EXPECT_LE(got.blocks * 512, RoundUp(node.content.size(), 512));
    }
  }

  void CompareNode(const ModelPtr& node) {
    const Result<Attributes> got = t_.Run(t_.fs->GetAttributes(node->inode));
    ASSERT_TRUE(got.ok()) << got.ToString();
    if (node != t_model_.root()) {
      CompareAttributes(*node, *got);
    }
    if (node->is_file()) {
      EXPECT_TRUE(t_.Read(node->inode) == node->content);
    }
    if (S_ISLNK(node->mode)) {
      const Result<std::string> target = t_.Run(t_.fs->ReadSymlink(node->inode));
      ASSERT_TRUE(target.ok());
      EXPECT_EQ(*target, node->content);
    }
    std::string names;
    for (const auto& [name, value] : node->xattrs) {
      names += name + std::string(1, '\0');
      const Result<std::string> got_value = t_.Run(t_.fs->GetXattr(node->inode, name));
      EXPECT_TRUE(got_value.ok() && *got_value == value);
    }
    const Result<std::string> got_names = t_.Run(t_.fs->ListXattrs(node->inode));
    ASSERT_TRUE(got_names.ok());
    EXPECT_EQ(*got_names, names);
  }

  void CompareTree(const ModelPtr& directory) {
    CompareNode(directory);
    const std::vector<ListedEntry> listed = t_.List(directory->inode, true, 1 + prng_.Below(5));
    ASSERT_EQ(listed.size(), directory->children.size() + 2);
    size_t at = 2;
    for (const auto& [name, child] : directory->children) {
      const ListedEntry& entry = listed[at++];
      EXPECT_EQ(entry.name, name);
      EXPECT_EQ(entry.mode, child->mode & S_IFMT);
      ASSERT_TRUE(entry.counted);
      EXPECT_TRUE(child->inode.value == 0 || child->inode == entry.inode);
      child->inode = entry.inode;
      if (child->lookups++ == 0) {
        known_.push_back(child);
      }
      if (child->is_directory()) {
        CompareTree(child);
      } else {
        CompareNode(child);
      }
    }
  }

  void CompareAll() {
    CompareTree(t_model_.root());
    // What has no name any more must still be all there.
    for (const ModelPtr& node : known_) {
      CompareNode(node);
    }
    FailingSink sink;
    const Result<NamespaceSummary> checked = t_.Run(CheckNamespace(*t_.store, sink));
    EXPECT_TRUE(checked.ok()) << checked.ToString();
  }

  void Remount() {
    std::unique_ptr<MemoryStore> survived = t_.store->Clone(store_options_);
    t_.Unmount();
    if (prng_.OneIn(2)) {
      t_.store = std::move(survived);  // what a crash left, before the unmount
    }
    survived = nullptr;
    for (const ModelPtr& node : known_) {
      node->lookups = 0;
    }
    known_.clear();
    t_.Mount();
    const Status finished = t_.Run(t_.fs->FinishRemovals());
    EXPECT_TRUE(finished.ok()) << finished.ToString();
    EXPECT_EQ(t_.Records(4), 0u) << "orphans are left";
    CompareAll();
  }

  Prng prng_;
  OpsFixture t_;
  MemoryStoreOptions store_options_;
  ModelFs t_model_;
  std::vector<ModelPtr> known_;
};

class OpsModel : public ::testing::TestWithParam<uint64_t> {};

TEST_P(OpsModel, EveryAnswerAndTheWholeTreeEqualThoseOfAPlainModel) {
  ModelRun run(GetParam(), 0);
  run.Run(10'000);
}

TEST_P(OpsModel, TheSameHoldsWhenReadsAndWritesWait) {
  ModelRun run(1000 + GetParam(), 3);
  run.Run(4'000);
}

INSTANTIATE_TEST_SUITE_P(Seeds, OpsModel, ::testing::Range<uint64_t>(0, 8));

}  // namespace
}  // namespace varve
