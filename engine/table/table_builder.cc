#include "engine/table/table_builder.h"

#include <utility>

namespace varve {

TableBuilder::TableBuilder(const TableEnvironment& environment, ExtentSource& source,
                           const TableBuilderOptions& options)
    : id_(options.id),
      writer_(environment.device, source, options.purpose, {}, 0, options.expected_bytes),
      segment_(environment, options.id, kFirstGeneration, 0, writer_, options.segment) {
  if (options.written_for) {
    writer_.Tell(environment.cache, options.id, options.written_for);
  }
}

Task<Result<TableView>> TableBuilder::Finish() {
  co_await segment_.BuildFilter();
  TableView view;
  view.id = id_;
  view.generation = kFirstGeneration;
  view.segments.push_back(segment_.Finish());
  view.smallest = view.segments.front().smallest_user_key();
  view.largest = view.segments.front().largest_user_key();
  const Status written = co_await writer_.Finish();
  if (!written.ok()) {
    co_return written.error();
  }
  view.extents = writer_.extents();
  view.used_bytes = writer_.used_bytes();
  co_return std::move(view);
}

}  // namespace varve
