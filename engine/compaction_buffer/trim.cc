#include "engine/compaction_buffer/trim.h"

#include <algorithm>
#include <utility>

#include "engine/compaction_buffer/table_heat.h"

namespace varve {

std::optional<VersionEdit::TrimmedView> TrimOf(const TableEnvironment& environment, uint32_t level,
                                               const BufferedView& view, bool young, double hot_share) {
  const TableView& table = view.table->view();
  KeptPart part = young ? WholePartOf(environment, table, view.kept)
                        : HotPartOf(environment, table, view.kept, {}, hot_share);
  if (part.kept == view.kept && !part.view.has_value()) {
    return std::nullopt;
  }
  return VersionEdit::TrimmedView{level, view.stamp, std::move(part.kept), std::move(part.view)};
}

std::vector<VersionEdit::TrimmedView> DropOf(const Version& version, uint32_t level) {
  std::vector<VersionEdit::TrimmedView> trims;
  for (const BufferedView& view : version.level(level).buffer.views()) {
    trims.push_back({level, view.stamp, {}});
  }
  return trims;
}

std::vector<VersionEdit::TrimmedView> DropOldest(const Version& version, uint64_t bytes) {
  struct Candidate {
    InstallStamp stamp;
    uint32_t level;
    uint64_t bytes;
  };
  std::vector<Candidate> candidates;
  version.ForEachBufferedView([&](uint32_t level, const BufferedView& view) {
    candidates.push_back({view.stamp, level, view.table->total_bytes()});
  });
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.stamp < b.stamp; });
  std::vector<VersionEdit::TrimmedView> trims;
  for (const Candidate& candidate : candidates) {
    if (bytes == 0) {
      break;
    }
    trims.push_back({candidate.level, candidate.stamp, {}});
    bytes -= std::min(bytes, candidate.bytes);
  }
  return trims;
}

}  // namespace varve
