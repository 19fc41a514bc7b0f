// What VerifyTable finds, collected.
#pragma once

#include <utility>
#include <vector>

#include "engine/table/table_reader.h"

namespace varve {

class FaultList final : public TableVerifierObserver {
 public:
  void OnFault(TableFault fault) override { faults.push_back(std::move(fault)); }
  Task<Status> BeforeRead(uint64_t /*bytes*/) override { co_return OkStatus(); }

  std::vector<TableFault> faults;
};

}  // namespace varve
