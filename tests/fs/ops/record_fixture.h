// A filesystem whose records a test changes behind its back.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>

#include "fs/namespace/namespace_format.h"
#include "tests/fs/ops/ops_fixture.h"

namespace varve {

class RecordFixture : public ::testing::Test {
 protected:
  void Put(std::string_view key, std::string_view value) {
    WriteBatch batch;
    batch.Put(key, value);
    ASSERT_TRUE(t_.Run(t_.store->Write(batch, Durability::kInterval)).ok());
  }
  void Delete(std::string_view key) {
    WriteBatch batch;
    batch.Delete(key);
    ASSERT_TRUE(t_.Run(t_.store->Write(batch, Durability::kInterval)).ok());
  }
  std::string ValueOf(std::string_view key) {
    const std::optional<Store::Lookup> found = t_.store->TryGet(key, ReadOptions());
    return std::string((**found)->bytes());
  }
  void ChangeRecord(InodeNumber inode, const std::function<void(Inode&)>& change) {
    const std::string old = ValueOf(NamespaceKey::OfInode(inode));
    const Result<InodeRecord> record = DecodeInode(old);
    Inode changed = record->inode;
    change(changed);
    std::string value;
    AppendInode(value, changed, record->content);
    Put(NamespaceKey::OfInode(inode), value);
  }
  void PutReference(InodeNumber parent, std::string_view name, InodeNumber inode, uint32_t type) {
    std::string value;
    AppendReferenceDirent(value, inode, type);
    Put(NamespaceKey::Dirent(parent, name), value);
  }

  OpsFixture t_;
};

}  // namespace varve
