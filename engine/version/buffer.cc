#include "engine/version/buffer.h"

#include <algorithm>
#include <utility>

#include "engine/version/tables_by_key.h"

namespace varve {

struct Buffer::Content {
  // by_key points into their keys.
  std::vector<BufferedView> views;
  TablesByKey by_key;
  uint64_t total_bytes = 0;
};

Buffer::Buffer(std::vector<BufferedView> views) {
  if (views.empty()) {
    return;
  }
  auto content = std::make_shared<Content>();
  content->views = std::move(views);
  std::vector<TablesByKey::Stretch> stretches;
  for (size_t i = 0; i < content->views.size(); ++i) {
    const BufferedView& view = content->views[i];
    for (const KeySpan& span : view.kept.spans()) {
      stretches.push_back(
          {{span.from.key, span.from.behind}, {span.to.key, span.to.behind}, i, view.table.get()});
    }
    content->total_bytes += view.table->total_bytes();
  }
  content->by_key = TablesByKey(stretches);
  content_ = std::move(content);
}

std::span<const BufferedView> Buffer::views() const {
  return content_ == nullptr ? std::span<const BufferedView>() : std::span(content_->views);
}

std::span<const LiveTable* const> Buffer::At(std::string_view user_key) const {
  return content_ == nullptr ? std::span<const LiveTable* const>() : content_->by_key.At(user_key);
}

bool Buffer::Overlaps(const KeyRangeView& range) const {
  const std::span<const BufferedView> all = views();
  return std::any_of(all.begin(), all.end(), [&](const BufferedView& view) {
    return view.table->range().Overlaps(range) && view.kept.Overlaps(range);
  });
}

uint64_t Buffer::total_bytes() const {
  return content_ == nullptr ? 0 : content_->total_bytes;
}

void HideKeys(std::vector<BufferedView>& views, size_t end, const KeySpans& hidden) {
  for (size_t i = 0; i < end; ++i) {
    if (views[i].kept.Overlaps(hidden)) {
      views[i].kept = views[i].kept.Minus(hidden);
    }
  }
}

}  // namespace varve
