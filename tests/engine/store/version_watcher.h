// VersionWatcher: sees every install of a store, checks each Version and what made it, and keeps the newest.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/version/edit_invariants.h"
#include "engine/version/invariants.h"
#include "engine/version/version_set.h"

namespace varve::testing {

class VersionWatcher : public InstallObserver {
 public:
  // Whoever looks for more calls this first.
  void OnInstalled(const std::shared_ptr<const Version>& version, const VersionEdit& edit) override {
    EXPECT_EQ(CheckVersion(*version), std::vector<std::string>());
    if (newest_ != nullptr) {
      EXPECT_EQ(CheckEdit(*newest_, edit), std::vector<std::string>());
    }
    newest_ = version;
  }
  const Version& newest() const { return *newest_; }
  // Before the store is opened anew: its first edit does not follow from what was seen.
  void Forget() { newest_.reset(); }

 private:
  std::shared_ptr<const Version> newest_;
};

}  // namespace varve::testing
