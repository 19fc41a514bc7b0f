// Whether the order of reads (read_order.h) tells the truth: the part of a deep check that looks at all
// tables together.
#pragma once

#include <functional>
#include <string>

#include "engine/ring/task.h"
#include "engine/table/table_environment.h"
#include "engine/version/version.h"

namespace varve {

// Walks every record of every table in order, and reports each key of which an earlier place holds a version
// that is older than one in a later place: a read would stop at the wrong one; and each that a table holds
// though it is said to be purged of it (TableView::purged_up_to). Damage on the way is reported
// once for its table. Memory: one read-ahead for each table of level 0, each Tree, and each run of a Log
// (log_index.h). All must outlive the Task.
Task<void> CheckReadOrder(const TableEnvironment& environment, const Version& version,
                          const std::function<void(std::string)>& report);

}  // namespace varve
