// What the check of the filesystem's records finds, and what a repair can do about it, as values: the check
// changes nothing, and the repair judges nothing.
#pragma once

#include <cstdint>
#include <string>

#include "fs/namespace/inode.h"

namespace varve {

// How a problem is mended. `inode`, `key`, `first` and `second` are those of the problem.
enum class Mend : uint8_t {
  kNothing,             // not without guessing
  kWithAnother,         // by the mending of another problem
  kRemoveRecord,        // the record `key` goes
  kRemoveChunks,        // chunks [first, second) of the inode go
  kRemoveNames,         // every name of the inode goes
  kRemoveOtherNames,    // every name but that in the directory that the inode says is its parent
  kMoveName,            // the name `key` is moved into lost+found, and named by its inode number
  kSetNameTypes,        // its names say what the inode is
  kAttach,              // it gets a name in lost+found
  kDetach,              // its name goes, and it gets one in lost+found
  kRelease,             // the inode record becomes an orphan's: what it owns is removed after the next mount
  kMakeDirectory,       // the directory's inode record is made
  kSetLinks,            // to `first`
  kSetParent,           // to the directory that its name lies in
  kSetDirectoryCounts,  // entries to `first`, subdirectories to `second`
  kSetChunkCount,       // to `first`
  kSetXattrFlag,        // to `first`
  kSetCounter,          // of inode numbers, to `first`
};

struct NamespaceProblem {
  // 0: of none in particular.
  InodeNumber inode;
  // One sentence for the operator.
  std::string what;
  Mend mend = Mend::kNothing;
  std::string key;
  uint64_t first = 0;
  uint64_t second = 0;
};

struct NamespaceSummary {
  uint64_t names = 0;
  uint64_t files = 0;  // regular ones
  uint64_t directories = 0;
  uint64_t others = 0;
  uint64_t chunks = 0;
  uint64_t xattrs = 0;
  // Files without a name and truncations that the next mount will finish: no problem.
  uint64_t orphans = 0;
  uint64_t problems = 0;
};

class NamespaceCheckSink {
 public:
  virtual ~NamespaceCheckSink() = default;
  virtual void Problem(const NamespaceProblem& problem) = 0;
  // Now and then: how many records have been looked at.
  virtual void Progress(uint64_t records) = 0;
};

// Counts what it hands on.
class ProblemReport {
 public:
  ProblemReport(NamespaceCheckSink& sink, NamespaceSummary& summary) : sink_(sink), summary_(summary) {}

  void Add(const NamespaceProblem& problem) {
    ++summary_.problems;
    sink_.Problem(problem);
  }
  void Add(uint64_t inode, std::string what, Mend mend = Mend::kNothing, uint64_t first = 0,
           uint64_t second = 0) {
    Add({InodeNumber(inode), std::move(what), mend, {}, first, second});
  }
  uint64_t problems() const { return summary_.problems; }

 private:
  NamespaceCheckSink& sink_;
  NamespaceSummary& summary_;
};

}  // namespace varve
