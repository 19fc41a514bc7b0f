// What a phase of a benchmark does: a mix of operations on keys drawn from a distribution, or one of the
// things that an engine is asked to do as a whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/bench/generators.h"

namespace varve {

enum class PhaseKind : uint8_t {
  kMix,
  kSettle,  // write everything out, wait until no merge is due
  kReopen,  // close cleanly and open again: the time of the opening
  kCrash,   // leave records in the log and be killed: the time of the next opening
};

// Where the next key comes from.
enum class KeyOrder : uint8_t {
  kSequential,  // 0, 1, 2 …: each record once
  kDrawn,       // from `distribution`, or from what --distribution asks for
};

struct Workload {
  std::string_view name;
  std::string_view description;
  PhaseKind kind = PhaseKind::kMix;
  // Shares of the operations; they add up to 1 in a mix.
  double read = 0;
  double update = 0;  // put to an existing number, or in a fill to one of --number
  double insert = 0;  // put to the next new number
  double scan = 0;
  double read_modify_write = 0;
  // --deletes is a share of all operations, and `read` and `update` share the rest; otherwise of the updates.
  bool deletes_of_all = false;

  KeyOrder order = KeyOrder::kDrawn;
  // nullopt: as --distribution asks.
  std::optional<Distribution> distribution = std::nullopt;
  // The keys looked for lie between existing ones.
  bool missing = false;
  // Entries of a scan: drawn from 1 to scan_entries, or exactly so many. 0: as --scan-length asks.
  uint32_t scan_entries = 1;
  bool scan_entries_drawn = false;
  // Runs --number operations and draws from --number records: what fills a store. Others run --operations on
  // the records that are there.
  bool fills = false;
  // Puts of records drawn uniformly go on beside it at a constant rate, on a thread of their own.
  bool with_writer = false;

  bool writes() const { return update + insert + read_modify_write > 0 || with_writer; }
};

const std::vector<Workload>& AllWorkloads();
// nullptr when there is none of that name.
const Workload* FindWorkload(std::string_view name);

}  // namespace varve
