#include "fs/ops/path.h"

#include <algorithm>

#include "tests/fs/ops/ops_fixture.h"

namespace varve {
namespace {

class StringSource final : public ByteSource {
 public:
  explicit StringSource(std::string bytes) : bytes_(std::move(bytes)) {}
  Result<size_t> Read(std::span<char> into) override {
    // Short reads, as from a pipe.
    const size_t length = std::min<size_t>({into.size(), bytes_.size() - at_, 60'000});
    bytes_.copy(into.data(), length, at_);
    at_ += length;
    return length;
  }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

class StringSink final : public ByteSink {
 public:
  Status Write(std::string_view bytes) override {
    taken.append(bytes);
    return {};
  }
  std::string taken;
};

class Collector final : public PathVisitor {
 public:
  explicit Collector(size_t paths_max = SIZE_MAX) : paths_max_(paths_max) {}
  Task<bool> Visit(std::string_view path, const Attributes&) override {
    paths.emplace_back(path);
    co_return paths.size() < paths_max_;
  }
  std::vector<std::string> paths;

 private:
  size_t paths_max_;
};

Status Put(OpsFixture& t, const std::string& path, const std::string& bytes, WriteWholeOptions options = {}) {
  StringSource source(bytes);
  return t.Run(WriteWhole(*t.fs, path, source, options));
}

std::string GetAll(OpsFixture& t, const std::string& path) {
  StringSink sink;
  const Status read = t.Run(ReadWhole(*t.fs, path, sink));
  EXPECT_TRUE(read.ok()) << read.ToString();
  return sink.taken;
}

TEST(Path, AValuePutUnderAPathComesBackAndNoLookupStaysCounted) {
  OpsFixture t;
  ASSERT_TRUE(Put(t, "/a/b//c", "value").ok());
  EXPECT_EQ(GetAll(t, "a/b/c"), "value");
  const std::string large(3'500'000, 'L');
  ASSERT_TRUE(Put(t, "a/large", large).ok());
  EXPECT_EQ(GetAll(t, "a/large"), large);
  EXPECT_EQ(t.fs->Statistics().nodes, 1u);
}

TEST(Path, ReplacingAValueKeepsWhoseItIsAndIsOneBatchForASmallOne) {
  OpsFixture t;
  ASSERT_TRUE(Put(t, "k", "old", WriteWholeOptions{0600, true, Caller{5, 6, 0}, false}).ok());
  const uint64_t writes = t.store->writes();
  ASSERT_TRUE(Put(t, "k", "new").ok());
  EXPECT_EQ(t.store->writes(), writes + 1);
  EXPECT_EQ(GetAll(t, "k"), "new");
  const Result<Attributes> attributes = t.Run(StatPath(*t.fs, "k"));
  ASSERT_TRUE(attributes.ok());
  EXPECT_EQ(attributes->mode & 07777, 0600u);
  EXPECT_EQ(attributes->uid, 5u);
  EXPECT_TRUE(Put(t, "k", "x", WriteWholeOptions{0600, true, Caller{}, true}).Is(ErrorCode::kExists));
}

TEST(Path, DotsAndFilesOnTheWayAreRefused) {
  OpsFixture t;
  ASSERT_TRUE(Put(t, "file", "x").ok());
  EXPECT_TRUE(t.Run(StatPath(*t.fs, "a/../file")).Is(ErrorCode::kInvalidArgument));
  EXPECT_TRUE(t.Run(StatPath(*t.fs, "file/below")).Is(ErrorCode::kNotDirectory));
  EXPECT_TRUE(t.Run(StatPath(*t.fs, "absent")).Is(ErrorCode::kNotFound));
}

TEST(Path, AScanGivesWholePathsInBytewiseOrder) {
  OpsFixture t;
  std::vector<std::string> wanted = {"a",     "a!",     "a!/x",    "a.b",   "a/b",     "a/b/c",
                                     "a/b.c", "a/b!/x", "a/b!",    "ab",    "b/x/y/z", "b/x/y",
                                     "b/x",   "b",      "a-dir/q", "a-dir", "a0"};
  for (const char* path : {"a/b/c", "a!/x", "a.b", "a/b.c", "a/b!/x", "ab", "b/x/y/z", "a-dir/q", "a0"}) {
    ASSERT_TRUE(Put(t, path, "v").ok()) << path;
  }
  std::sort(wanted.begin(), wanted.end());
  Collector all;
  ASSERT_TRUE(t.Run(ScanPaths(*t.fs, "", all)).ok());
  EXPECT_EQ(all.paths, wanted);
  Collector some;
  ASSERT_TRUE(t.Run(ScanPaths(*t.fs, "/a/b", some)).ok());
  EXPECT_EQ(some.paths, (std::vector<std::string>{"a/b", "a/b!", "a/b!/x", "a/b.c", "a/b/c"}));
  Collector two(2);
  ASSERT_TRUE(t.Run(ScanPaths(*t.fs, "a", two)).ok());
  EXPECT_EQ(two.paths, (std::vector<std::string>{"a", "a!"}));
  EXPECT_EQ(t.fs->Statistics().nodes, 1u);
}

TEST(Path, ATreeIsRemovedOnlyWhenThatIsAskedFor) {
  OpsFixture t;
  ASSERT_TRUE(Put(t, "d/e/f", "v").ok());
  ASSERT_TRUE(Put(t, "d/g", "v").ok());
  EXPECT_TRUE(t.Run(RemovePath(*t.fs, "d", false)).Is(ErrorCode::kNotEmpty));
  ASSERT_TRUE(t.Run(RemovePath(*t.fs, "d", true)).ok());
  Collector all;
  ASSERT_TRUE(t.Run(ListPath(*t.fs, "/", all)).ok());
  EXPECT_TRUE(all.paths.empty());
  EXPECT_TRUE(t.Run(RemovePath(*t.fs, "d", true)).Is(ErrorCode::kNotFound));
}

}  // namespace
}  // namespace varve
