// A file is named when and only when a part of it cannot be read: bytes are destroyed one after another all
// over the tables, and what is named is held against what reads say.
#include "fs/ops/name_damage.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/store/check_store.h"
#include "engine/store/store_at_rest.h"
#include "fs/namespace/namespace_format.h"
#include "tests/fs/ops/stored_fs.h"

namespace varve {
namespace {

constexpr uint64_t kChunk = 4096;

class KeyCollector final : public CheckObserver {
 public:
  void OnProblem(StoreProblem problem) override {
    ++problems;
    if (problem.keys) {
      keys.push_back(*problem.keys);
    }
  }
  void OnProgress(uint64_t /*done_bytes*/, uint64_t /*total_bytes*/) override {}

  uint64_t problems = 0;
  std::vector<KeyRange> keys;
};

class Damage final : public DamageSink {
 public:
  void Damaged(std::string_view path, std::string_view part) override {
    found.emplace(std::string(path) + ": " + std::string(part));
  }
  std::set<std::string> found;
};

class NameDamageTest : public ::testing::Test {
 protected:
  void Fill() {
    ASSERT_TRUE(fs_.Mount().ok());
    fs_.Put("d/big", std::string(50 * kChunk, 'b'));
    fs_.Put("d/other", std::string(7 * kChunk + 5, 'o'));
    for (int i = 0; i < 60; ++i) {
      fs_.Put("many/small" + std::to_string(i), std::string(300, 's'));
    }
    fs_.Close();
  }
  std::vector<Extent> TableExtents() {
    std::vector<Extent> extents;
    const Result<StoreAtRest> store = fs_.Run(ReadStoreAtRest(fs_.device, nullptr));
    store->manifest.version.ForEachTable([&](const LiveTable& table) {
      for (const TableExtent& part : table.view().extents) {
        extents.push_back(part.extent);
      }
    });
    return extents;
  }
  // What cannot be read of the chunked files, as NameDamage would say it.
  std::set<std::string> UnreadableBytes() {
    std::set<std::string> parts;
    for (const auto& [path, size] :
         std::map<std::string, uint64_t>{{"d/big", 50 * kChunk}, {"d/other", 7 * kChunk + 5}}) {
      const Result<Attributes> d = fs_.Run(fs_.fs->Lookup(kRootInode, "d"));
      const Result<Attributes> found = d.ok() ? fs_.Run(fs_.fs->Lookup(d->inode, path.substr(2))) : d;
      if (!found.ok()) {
        continue;
      }
      uint64_t from = UINT64_MAX;
      for (uint64_t at = 0; at < size + kChunk; at += kChunk) {
        std::string into(kChunk, '?');
        const bool bad = at < size && !fs_.Run(fs_.fs->Read(found->inode, at, std::span<char>(into))).ok();
        if (bad && from == UINT64_MAX) {
          from = at;
        } else if (!bad && from != UINT64_MAX) {
          parts.insert("/" + path + ": bytes " + std::to_string(from) + " to " +
                       std::to_string(RoundUp(at, kChunk) - 1));
          from = UINT64_MAX;
        }
      }
    }
    return parts;
  }

  StoredFs fs_;
};

TEST_F(NameDamageTest, NamesTheBytesThatCannotBeReadAndNoOthers) {
  Fill();
  int bytes_named = 0;
  int names_named = 0;
  for (const Extent& extent : TableExtents()) {
    for (uint64_t at = 0; at < extent.bytes(); at += 1111) {
      const uint64_t place = extent.offset().value + at;
      fs_.device.Corrupt(place, 1);
      KeyCollector keys;
      ASSERT_TRUE(fs_.Run(CheckStore(fs_.device, CheckDepth::kBlocks, keys)).ok());
      ASSERT_EQ(keys.problems, keys.keys.size());
      ASSERT_TRUE(fs_.OpenStore(true).ok());
      Damage damage;
      const Status named = fs_.Run(NameDamage(*fs_.store, keys.keys, damage));
      ASSERT_TRUE(named.ok()) << named.ToString();
      std::set<std::string> named_bytes;
      for (const std::string& part : damage.found) {
        if (part.find(": bytes ") != part.npos) {
          named_bytes.insert(part);
        } else if (part.find("name") != part.npos) {
          ++names_named;
        }
      }
      if (fs_.Mount(true).ok()) {
        EXPECT_EQ(named_bytes, UnreadableBytes()) << "byte " << place;
        bytes_named += named_bytes.empty() ? 0 : 1;
      }
      fs_.Close();
      fs_.device.Corrupt(place, 1);
    }
  }
  EXPECT_GT(bytes_named, 40);
  EXPECT_GT(names_named, 10);
}

TEST_F(NameDamageTest, LostNamesAreNamedByTheirDirectoryAndTheirNeighbours) {
  Fill();
  ASSERT_TRUE(fs_.Mount(true).ok());
  const Result<Attributes> many = fs_.Run(StatPath(*fs_.fs, "many"));
  ASSERT_TRUE(many.ok());
  Damage damage;
  const KeyRange lost{std::string(NamespaceKey::Dirent(many->inode, "small1").view()),
                      std::string(NamespaceKey::Dirent(many->inode, "small3").view())};
  ASSERT_TRUE(fs_.Run(NameDamage(*fs_.store, {lost}, damage)).ok());
  EXPECT_EQ(damage.found, std::set<std::string>{"/many: names from \"small1\" to \"small3\""});
}

TEST_F(NameDamageTest, WhatCanBeReadIsNotNamed) {
  Fill();
  ASSERT_TRUE(fs_.Mount(true).ok());
  Damage damage;
  const KeyRange all_content{std::string(NamespaceKey::KindStart(2).view()),
                             std::string(NamespaceKey::KindStart(4).view())};
  ASSERT_TRUE(fs_.Run(NameDamage(*fs_.store, {all_content}, damage)).ok());
  EXPECT_EQ(damage.found, std::set<std::string>{});
}

}  // namespace
}  // namespace varve
