// The tables of a disjoint level as one source: a merge compares one key for the level, and one table at a
// time holds read-ahead, however many there are.
#pragma once

#include <memory>

#include "engine/table/internal_iterator.h"
#include "engine/table/table_reader.h"
#include "engine/version/sorted_tables.h"

namespace varve {

// `environment` and `tree` must outlive it.
std::unique_ptr<InternalIterator> NewTreeIterator(const TableEnvironment& environment,
                                                  const SortedTables& tree, TableIteratorOptions options);

}  // namespace varve
