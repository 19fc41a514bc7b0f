#include "tools/write_model/model_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace varve::write_model {
namespace {

// Of an entry of the index, about; of a footer with the padding around it.
constexpr double kIndexEntryBytes = 80;
constexpr double kFooterBytes = 4096;

uint32_t RecordsInBlock(const LevelShape& shape) {
  const auto records = static_cast<double>(shape.block_bytes) / static_cast<double>(shape.record_bytes);
  return std::max(1U, static_cast<uint32_t>(std::llround(records)));
}

// Cuts `records` into blocks of one size.
void AppendBlocks(std::vector<uint32_t>& index, uint64_t records, const LevelShape& shape) {
  const uint64_t blocks =
      std::max<uint64_t>(1, (records + RecordsInBlock(shape) / 2) / RecordsInBlock(shape));
  for (uint64_t i = 0; i < blocks && records > 0; ++i) {
    index.push_back(static_cast<uint32_t>(records * (i + 1) / blocks - records * i / blocks));
  }
}

// Builds the index that a merge leaves.
class Mender {
 public:
  Mender(const Keys& records, const LevelShape& shape) : records_(records), shape_(shape) {}

  // Records before `key` lie in no block.
  void PassGap(uint32_t key) {
    while (next_ < records_.size() && records_[next_] < key) {
      ++next_;
      ++gathered_;
    }
  }

  // Keys [first, end) are what an entry of the index means.
  void PassEntry(const uint32_t* first, const uint32_t* end) {
    PassGap(*first);
    const bool is_dirty = next_ < records_.size() && records_[next_] <= *(end - 1);
    if (!is_dirty) {
      EndGathered();
      mend_.index.push_back(static_cast<uint32_t>(end - first));
    } else if (Splits(end - first)) {
      Split(first, end);
    } else {
      Rewrite(first, end);
    }
  }

  ModelMend Finish() {
    gathered_ += records_.size() - next_;
    EndGathered();
    mend_.facts.index_entries = mend_.index.size();
    return std::move(mend_);
  }

 private:
  // As MendOptions has it.
  bool Splits(std::ptrdiff_t records) const {
    return shape_.record_bytes >= shape_.block_bytes / 8 &&
           static_cast<uint64_t>(records) * shape_.record_bytes > shape_.block_bytes / 2;
  }

  void Split(const uint32_t* at, const uint32_t* end) {
    uint32_t span = 0;
    const uint32_t last = *(end - 1);
    while (at != end || (next_ < records_.size() && records_[next_] <= last)) {
      const bool comes = next_ < records_.size() && (at == end || records_[next_] <= *at);
      if (!comes) {
        EndGathered();
        ++span;
        ++at;
        continue;
      }
      if (span > 0) {
        mend_.index.push_back(std::exchange(span, 0));
      }
      if (at != end && records_[next_] == *at) {
        ++at;
        mend_.wasted_bytes += RecordBytes();
      }
      mend_.facts.replaced_bytes += shape_.record_bytes;
      ++next_;
      ++gathered_;
    }
    if (span > 0) {
      mend_.index.push_back(span);
    }
  }

  void Rewrite(const uint32_t* at, const uint32_t* end) {
    const uint32_t last = *(end - 1);
    uint64_t records = static_cast<uint64_t>(end - at);
    const double bytes = static_cast<double>(records) * RecordBytes();
    mend_.facts.bytes += records * shape_.record_bytes;
    mend_.wasted_bytes += bytes;
    for (; next_ < records_.size() && records_[next_] <= last; ++next_) {
      records += std::binary_search(at, end, records_[next_]) ? 0 : 1;
    }
    gathered_ += records;
  }

  void EndGathered() {
    if (gathered_ > 0) {
      AppendBlocks(mend_.index, gathered_, shape_);
      mend_.written_bytes += static_cast<double>(gathered_) * RecordBytes();
      gathered_ = 0;
    }
  }
  double RecordBytes() const { return static_cast<double>(shape_.record_bytes); }

  const Keys& records_;
  const LevelShape& shape_;
  size_t next_ = 0;
  // Records that go into new blocks, with nothing kept between them.
  uint64_t gathered_ = 0;
  ModelMend mend_;
};

}  // namespace

double ModelTable::MetaBytes(const LevelShape& shape) const {
  return static_cast<double>(filter.capacity) * shape.bits_per_key / 8 +
         static_cast<double>(index.size()) * kIndexEntryBytes + static_cast<double>(segments) * kFooterBytes;
}

std::vector<ModelTable> TablesOf(const Keys& keys, const LevelShape& shape, double& written_bytes) {
  const uint64_t count =
      std::max<uint64_t>(1, (keys.size() * shape.record_bytes + shape.table_bytes / 2) / shape.table_bytes);
  std::vector<ModelTable> tables;
  for (uint64_t i = 0; i < count && !keys.empty(); ++i) {
    const auto first = static_cast<std::ptrdiff_t>(keys.size() * i / count);
    const auto end = static_cast<std::ptrdiff_t>(keys.size() * (i + 1) / count);
    ModelTable table;
    table.keys.assign(keys.begin() + first, keys.begin() + end);
    AppendBlocks(table.index, table.keys.size(), shape);
    const auto records = static_cast<double>(table.keys.size());
    const double affordable =
        shape.filter_share_max * table.LiveBytes(shape) / (records * shape.bits_per_key / 8);
    const double reserve = std::clamp(affordable - 1, 0.0, shape.filter_reserve);
    table.filter.insertions = table.keys.size();
    table.filter.capacity = static_cast<uint64_t>(records * (1 + reserve));
    written_bytes += table.LiveBytes(shape) + table.MetaBytes(shape);
    tables.push_back(std::move(table));
  }
  return tables;
}

ModelMend Mend(const ModelTable& table, const Keys& records, const LevelShape& shape) {
  Mender mender(records, shape);
  const uint32_t* at = table.keys.data();
  for (const uint32_t count : table.index) {
    mender.PassEntry(at, at + count);
    at += count;
  }
  return mender.Finish();
}

Keys MergedKeys(const Keys& a, const Keys& b) {
  Keys merged;
  merged.reserve(a.size() + b.size());
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(merged));
  return merged;
}

}  // namespace varve::write_model
