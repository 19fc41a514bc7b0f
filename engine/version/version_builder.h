// VersionBuilder: applies one edit to a Version. Used by ApplyVersionEdit only.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/base/result.h"
#include "engine/version/version.h"
#include "engine/version/version_edit.h"

namespace varve {

class VersionBuilder {
 public:
  // All must outlive the builder.
  VersionBuilder(const Version& base, const VersionEdit& edit, LiveTables& tables);

  Result<Version> Build();

 private:
  Status CheckEdit() const;
  Status CollectRemoved();
  Result<std::shared_ptr<const LiveTable>> TableFor(const TableView& view);
  Status BuildLevel0();
  Status BuildLevel(uint32_t level);
  Status BuildLog(uint32_t level, Level& into);
  Status BuildBuffer(uint32_t level, Level& into);
  Status TrimViews(uint32_t level, std::vector<BufferedView>& views);
  Status BuildRangeTombstones();
  Status BuildWalSegments();
  Status BuildCounters();

  // The edit's part for one place, oldest first.
  Result<std::vector<StampedTable>> EditStamped(Place place, const std::vector<StampedTable>& before);
  std::vector<TableName> RemovedFrom(Place place) const;
  bool Touches(uint32_t level) const;

  const Version& base_;
  const VersionEdit& edit_;
  LiveTables& tables_;
  // What the edit takes away somewhere, so that a table which only moves stays the same LiveTable.
  std::map<std::pair<TableId, Generation>, std::shared_ptr<const LiveTable>> removed_;
  Version built_;
};

}  // namespace varve
