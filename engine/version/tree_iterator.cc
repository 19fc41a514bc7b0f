#include "engine/version/tree_iterator.h"

namespace varve {

namespace {

class TreeIterator final : public InternalIterator {
 public:
  TreeIterator(const TableEnvironment& environment, const SortedTables& tree, TableIteratorOptions options,
               bool beside_tree)
      : environment_(environment),
        tree_(tree),
        options_(options),
        beside_tree_(beside_tree),
        at_(tree.First()) {}

  Step Seek(std::string_view internal_key) override {
    forward_ = true;
    at_ = tree_.Seek(UserKeyOf(internal_key));
    return OpenForSeek() ? Settle(table_->Seek(internal_key)) : Step::kDone;
  }
  Step SeekForPrev(std::string_view internal_key) override {
    forward_ = false;
    at_ = tree_.Seek(UserKeyOf(internal_key));
    if (!at_.Valid()) {
      at_ = tree_.Last();
    }
    return OpenForSeek() ? Settle(table_->SeekForPrev(internal_key)) : Step::kDone;
  }
  Step SeekToFirst() override {
    forward_ = true;
    at_ = tree_.First();
    return Open() ? Settle(table_->SeekToFirst()) : Step::kDone;
  }
  Step SeekToLast() override {
    forward_ = false;
    at_ = tree_.Last();
    return Open() ? Settle(table_->SeekToLast()) : Step::kDone;
  }
  Step Next() override {
    forward_ = true;
    return Settle(table_->Next());
  }
  Step Prev() override {
    forward_ = false;
    return Settle(table_->Prev());
  }
  Task<void> Load() override {
    Step step = Step::kNeedsIo;
    while (step == Step::kNeedsIo) {
      co_await table_->Load();
      step = Settle(Step::kDone);
    }
  }

  bool Valid() const override { return table_ != nullptr && table_->Valid(); }
  std::string_view key() const override { return table_->key(); }
  std::string_view value() const override { return table_->value(); }
  Status status() const override { return table_ != nullptr ? table_->status() : OkStatus(); }
  CacheStanding standing() const override { return table_->standing(); }

 private:
  // An iterator over the table at the cursor; false beyond either end.
  bool Open() {
    table_ = at_.Valid() ? NewTableIterator(environment_, at_->view(), options_) : nullptr;
    return table_ != nullptr;
  }
  bool OpenForSeek() {
    // Merges read whole tables: that is no reader's cost.
    if (at_.Valid() && options_.purpose == IoPurpose::kUserRead) {
      at_->CountSeek(beside_tree_);
    }
    return Open();
  }
  // Past the end of one table the walk goes on in its neighbour.
  Step Settle(Step step) {
    while (step == Step::kDone && !table_->Valid() && table_->status().ok()) {
      if (forward_) {
        at_.Next();
      } else {
        at_.Prev();
      }
      if (forward_ && EndsBefore()) {
        table_ = nullptr;
        return Step::kDone;
      }
      if (!Open()) {
        return Step::kDone;
      }
      step = forward_ ? table_->SeekToFirst() : table_->SeekToLast();
    }
    return step;
  }

  // Whether the table at the cursor lies behind all that is to be read.
  bool EndsBefore() const {
    return !options_.last_key.empty() && at_.Valid() && at_->smallest_key() > options_.last_key;
  }

  const TableEnvironment& environment_;
  const SortedTables& tree_;
  TableIteratorOptions options_;
  bool beside_tree_;
  SortedTables::Cursor at_;
  std::unique_ptr<InternalIterator> table_;
  bool forward_ = true;
};

}  // namespace

std::unique_ptr<InternalIterator> NewTreeIterator(const TableEnvironment& environment,
                                                  const SortedTables& tree, TableIteratorOptions options,
                                                  bool beside_tree) {
  return std::make_unique<TreeIterator>(environment, tree, options, beside_tree);
}

}  // namespace varve
