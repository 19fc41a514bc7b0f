// Mends what CheckNamespace finds and what can be mended without guessing (docs/design/fsck.md says how, and
// why so). Everything is written in batches of the store, each of which leaves a tree no worse than before: a
// crash in the middle costs nothing but the rest of the work.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/base/clock.h"
#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "engine/store/store.h"
#include "fs/ops/namespace_problem.h"

namespace varve {

class RepairSink {
 public:
  virtual ~RepairSink() = default;
  // `path` names the inode of the problem; "/" where it is of none in particular. `outcome` says what was
  // done.
  virtual void Mended(std::string_view path, const NamespaceProblem& problem, std::string_view outcome) = 0;
  // What is still there when nothing more can be mended.
  virtual void Left(std::string_view path, const NamespaceProblem& problem) = 0;
  // Now and then: how many records the check under way has looked at.
  virtual void Progress(uint64_t records) = 0;
};

struct RepairSummary {
  uint64_t mended = 0;
  // Of the check that found nothing more to mend: its problems are what is left.
  NamespaceSummary last;
};

// Checks, mends and checks again until nothing can be mended any more; what was mended is durable when this
// ends. To be called only where every block of the store is good: what cannot be read must not be taken for
// missing. Nobody else may use the store meanwhile. All must outlive the Task. Errors: those of the store.
Task<Result<RepairSummary>> RepairNamespace(Store& store, const Clock& clock, RepairSink& sink);

}  // namespace varve
