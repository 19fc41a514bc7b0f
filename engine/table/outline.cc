#include "engine/table/outline.h"

#include "engine/base/internal_key.h"
#include "engine/table/data_block.h"

namespace varve {

void OutlineBuilder::Add(std::string_view internal_key, std::string_view value) {
  fits_ = fits_ && !options_.prefix.empty() && internal_key.starts_with(options_.prefix);
  if (fits_) {
    block_.Add(internal_key, value.substr(0, options_.value_bytes));
  }
}

std::string OutlineBuilder::Take(size_t payload_bytes) {
  std::string outline;
  if (fits_ && !block_.empty() && block_.EstimatedBytes() * kOutlineShare <= payload_bytes) {
    outline = block_.Finish();
  }
  block_.Reset();
  fits_ = true;
  return outline;
}

bool IsOutlineOf(std::string_view outline, std::string_view payload) {
  DataBlockCursor beginnings;
  DataBlockCursor records;
  beginnings.Reset(outline);
  records.Reset(payload);
  beginnings.SeekToFirst();
  records.SeekToFirst();
  while (beginnings.Valid() && records.Valid()) {
    if (beginnings.key() != records.key() || !records.value().starts_with(beginnings.value())) {
      return false;
    }
    beginnings.Next();
    records.Next();
  }
  return !beginnings.Valid() && !records.Valid() && !beginnings.corrupt() && !records.corrupt();
}

}  // namespace varve
