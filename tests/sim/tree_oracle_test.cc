// A judge that cannot condemn is worthless: each kind of wrong tree is planted and seen.
#include "tests/sim/tree_oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>

namespace varve::sim {
namespace {

using testing::HasSubstr;
using testing::Optional;

// Two clients whose trees have the digests 10, 11, 12 … and 20, 21, …: one operation of client 1 after two of
// client 0.
class TreeOracleTest : public testing::Test {
 protected:
  TreeOracleTest() {
    Done(0, 11);
    Done(0, 12);
    Done(1, 21);
  }
  void Done(size_t client, uint64_t digest) {
    oracle_.Begin(client);
    oracle_.Acknowledged(client, digest);
  }

  static constexpr uint64_t kEmpty = 10;
  TreeOracle oracle_{2, kEmpty};
};

TEST_F(TreeOracleTest, APrefixIsNoProblem) {
  EXPECT_EQ(TreeOracle(oracle_).Adopt({12, 21}, true), std::nullopt);
  EXPECT_EQ(TreeOracle(oracle_).Adopt({12, kEmpty}, true), std::nullopt);
  EXPECT_EQ(TreeOracle(oracle_).Adopt({11, kEmpty}, true), std::nullopt);
  EXPECT_EQ(TreeOracle(oracle_).Adopt({kEmpty, kEmpty}, true), std::nullopt);
}

TEST_F(TreeOracleTest, ATreeThatNeverWasIsSeen) {
  EXPECT_THAT(oracle_.Adopt({13, kEmpty}, true), Optional(HasSubstr("is no tree after")));
}

TEST_F(TreeOracleTest, LossOfWhatWasDurableIsSeen) {
  oracle_.Durable({2, 0});
  EXPECT_THAT(oracle_.Adopt({11, kEmpty}, true), Optional(HasSubstr("is no tree after 2 to 2")));
}

TEST_F(TreeOracleTest, ALaterOperationWithoutAnEarlierOneIsSeen) {
  EXPECT_THAT(oracle_.Adopt({11, 21}, true), Optional(HasSubstr("acknowledged before it began, did not")));
}

TEST_F(TreeOracleTest, AnOperationOfUnknownOutcomeMayBeThereOrNot) {
  oracle_.Begin(0);
  oracle_.Unknown(0, 13);
  EXPECT_EQ(TreeOracle(oracle_).Adopt({12, 21}, true), std::nullopt);
  EXPECT_EQ(oracle_.Adopt({13, 21}, true), std::nullopt);
}

TEST_F(TreeOracleTest, OnlyWhereDataWasDestroyedMayAnOlderTreeThanTheLastCrashLeftComeBack) {
  ASSERT_EQ(oracle_.Adopt({12, kEmpty}, true), std::nullopt);
  Done(0, 13);
  EXPECT_THAT(TreeOracle(oracle_).Adopt({11, kEmpty}, true), Optional(HasSubstr("is no tree after 2 to 3")));
  EXPECT_EQ(TreeOracle(oracle_).Adopt({11, kEmpty}, false), std::nullopt);
  // What did not survive once is gone for good.
  EXPECT_THAT(oracle_.Adopt({13, 21}, false), Optional(HasSubstr("is no tree after 0 to 0")));
}

TEST(TreeDigest, TellsContentsNamesModesAndLinksApart) {
  const auto tree = [](const std::function<void(ModelNode&, ModelPtr&)>& change) {
    ModelNode root;
    auto file = std::make_shared<ModelNode>();
    file->mode = S_IFREG | 0644;
    file->content = "bytes";
    root.children["a"] = file;
    root.children["b"] = file;
    change(root, file);
    return TreeDigest(root);
  };
  const uint64_t same = tree([](ModelNode&, ModelPtr&) {});
  EXPECT_EQ(tree([](ModelNode&, ModelPtr&) {}), same);
  EXPECT_NE(tree([](ModelNode&, ModelPtr& file) { file->content = "bites"; }), same);
  EXPECT_NE(tree([](ModelNode&, ModelPtr& file) { file->mode = S_IFREG | 0600; }), same);
  EXPECT_NE(tree([](ModelNode&, ModelPtr& file) { file->nlink = 2; }), same);
  EXPECT_NE(tree([](ModelNode&, ModelPtr& file) { file->xattrs["user.a"] = "1"; }), same);
  EXPECT_NE(tree([](ModelNode& root, ModelPtr&) { root.children.erase("b"); }), same);
  EXPECT_NE(
      tree([](ModelNode& root, ModelPtr& file) { root.children["b"] = std::make_shared<ModelNode>(*file); }),
      same);
}

}  // namespace
}  // namespace varve::sim
