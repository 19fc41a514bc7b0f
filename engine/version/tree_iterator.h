// Disjoint tables, those of a Tree or a run of a Log, as one source: a merge compares one key for them all,
// and one table at a time holds read-ahead, however many there are.
#pragma once

#include <memory>

#include "engine/table/internal_iterator.h"
#include "engine/table/table_reader.h"
#include "engine/version/sorted_tables.h"

namespace varve {

// `environment` and `tree` must outlive it. `beside_tree`: as for LiveTable::CountSeek.
std::unique_ptr<InternalIterator> NewTreeIterator(const TableEnvironment& environment,
                                                  const SortedTables& tree, TableIteratorOptions options,
                                                  bool beside_tree = false);

}  // namespace varve
