// A memtable's walk as a source of merges: never waits.
#pragma once

#include <memory>

#include "engine/memtable/memtable.h"
#include "engine/table/internal_iterator.h"

namespace varve {

// The memtable must outlive it, or be held by it.
class MemtableSource final : public InternalIterator {
 public:
  explicit MemtableSource(const Memtable& memtable) : walk_(memtable) {}

  Step Seek(std::string_view internal_key) override {
    walk_.Seek(internal_key);
    return Step::kDone;
  }
  Step SeekForPrev(std::string_view internal_key) override {
    walk_.SeekForPrev(internal_key);
    return Step::kDone;
  }
  Step SeekToFirst() override {
    walk_.SeekToFirst();
    return Step::kDone;
  }
  Step SeekToLast() override {
    walk_.SeekToLast();
    return Step::kDone;
  }
  Step Next() override {
    walk_.Next();
    return Step::kDone;
  }
  Step Prev() override {
    walk_.Prev();
    return Step::kDone;
  }
  Task<void> Load() override { co_return; }

  bool Valid() const override { return walk_.Valid(); }
  std::string_view key() const override { return walk_.key(); }
  std::string_view value() const override { return walk_.value(); }
  Status status() const override { return {}; }

 private:
  Memtable::Iterator walk_;
};

}  // namespace varve
