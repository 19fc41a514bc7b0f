// Reading tables: iterators and verification, as functions of an immutable TableView (point lookups:
// table_lookup.h). Nothing is opened or closed; what a read needs beyond the view comes from the block cache
// or the device.
//
// Threads: all functions from any executor, concurrently. `environment` and `view` must outlive what is made
// from them: the caller pins the version that holds the view. Errors: kCorruption (bytes that fail a check,
// with table, offset and reason), kDeviceError, kUnsupported (a codec or record kind that this version does
// not know).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/base/key_range.h"
#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "engine/table/internal_iterator.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_view.h"

namespace varve {

class BackgroundReads;
class ReadAheadMarks;

struct TableIteratorOptions {
  // False: what the iterator reads does not enter the cache.
  bool fill_cache = true;
  // Its blocks of the index do all the same.
  bool fill_index = false;
  IoPurpose purpose = IoPurpose::kUserRead;
  // Reads of data blocks that follow each other grow from one block to this many bytes, once the iterator has
  // moved forward over two blocks; with `sequential` they are that large from the start (merges, bulk
  // readers).
  uint32_t readahead_bytes = 256 * kKiB;
  bool sequential = false;
  // Walks forward: a read goes on over what lies between two data blocks (parts of the index do), up to so
  // many bytes, and over what the next parts of the index name, where these are cached. 0: a read ends at the
  // first gap, and with the part of the index that names its first block.
  uint32_t reads_through_bytes = 0;
  // Walks forward whose blocks pass: from where the walk begins, so many bytes are likely to be asked for, by
  // it and by others that follow it. Where it follows one itself, reads go on behind what it wants. 0: they
  // do not.
  uint64_t stretch_bytes = 0;
  // Whether records tell how their block stands in the cache: for what is made of them.
  bool notice_standing = false;
  // What the read for a seek covers, where it covers whole blocks: worth more than one block in the table
  // that most of a walk's entries come from. 0: one block.
  uint32_t first_read_bytes = 0;
  // Where a long walk forward reads ahead without waiting, so that the device works while the walk does; with
  // `fill_cache` only. Must outlive the iterator; nullptr: it waits for each read.
  BackgroundReads* background = nullptr;
  // The walk is long: it reads so from its first block that is not cached.
  bool goes_on = false;
  // Of a walk that several iterators make one after the other, how far it has been read ahead. Must outlive
  // the iterator; nullptr: it is the only one.
  ReadAheadMarks* marks = nullptr;
  // Values may be cut short: where an index holds outlines, data blocks are not read.
  bool outlines = false;
  // Walks on behind a block that fails its checks, as if it held nothing (see ReadOptions in store.h).
  bool pass_over_damage = false;
  // A user key: blocks that begin behind it are not read by a walk forward. Up to it the walk gives every
  // entry, behind it some or none. Empty: it ends with the table.
  std::string last_key = {};
};

// Over all segments of the table. Costs no I/O before the first move.
std::unique_ptr<InternalIterator> NewTableIterator(const TableEnvironment& environment, const TableView& view,
                                                   TableIteratorOptions options);

struct TableFault {
  // In words.
  std::string what;
  // The user keys that it may concern: those of a block that cannot be read, or of the whole segment or
  // table.
  KeyRange keys;
};

class TableVerifierObserver {
 public:
  virtual ~TableVerifierObserver() = default;
  virtual void OnFault(TableFault fault) = 0;
  // Before each piece of at most 1 MiB is read. Where others need the device or the CPU this may take its
  // time; an error ends the walk, and is what VerifyTable answers.
  virtual Task<Status> BeforeRead(uint64_t bytes) = 0;
};

// Reads the whole table without the cache and checks everything that the format promises: checksums and
// identity, order, index entries against their blocks, counts against footer and view, filters without false
// negatives. Each fault is reported; the walk goes on behind it where it can. Fails only with kDeviceError,
// and as the observer says.
Task<Status> VerifyTable(const TableEnvironment& environment, const TableView& view,
                         TableVerifierObserver& observer);

}  // namespace varve
