// Runs tests/scenarios/tree.txt, sst_log.txt and deletes.txt; tests/scenarios/README.md describes the format.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "engine/tree/tree_picker.h"
#include "tests/support/table_views.h"

namespace varve {
namespace {

struct Scenario {
  std::string claim;
  std::vector<std::string> lines;
};

std::vector<Scenario> ReadScenarios(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::vector<Scenario> scenarios;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("== ")) {
      scenarios.push_back({line.substr(3), {}});
    } else if (!line.empty()) {
      EXPECT_FALSE(scenarios.empty()) << line;
      scenarios.back().lines.push_back(line);
    }
  }
  return scenarios;
}

// The store that a scenario's lines draw, and what the picker says of it.
class Stage {
 public:
  // The expected plan where the line says so.
  std::optional<std::string> Play(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (verb == "expect") {
      return line.substr(line.find(' ') + 1);
    }
    if (verb == "config") {
      ReadConfig(words);
    } else if (verb == "busy") {
      for (uint64_t id = 0; words >> id;) {
        busy_.push_back(id);
      }
    } else if (verb == "snapshot") {
      words >> state_.deletes.oldest_snapshot.value;
    } else if (verb == "room") {
      words >> state_.deletes.bytes_max;
      state_.deletes.bytes_max *= kKiB;
    } else if (verb == "cursor") {
      uint32_t level = 0;
      words >> level >> state_.cursors.at(1);
      EXPECT_EQ(level, 1u) << line;
    } else {
      Place place{0, Part::kLevel0};
      if (verb != "L0") {
        place.level = static_cast<uint32_t>(verb.back() - '0');
        place.part = verb.starts_with("log") ? Part::kLog : Part::kTree;
      }
      for (std::string table; words >> table;) {
        AddTable(place, table);
      }
    }
    return std::nullopt;
  }

  std::string Pick() {
    const Version version = version_.Build();
    // One job that holds the busy tables: a plan of another level, so that only the tables are in the way.
    CompactionPlan job;
    job.output_level = kLevels - 1;
    job.hull = {"~", "~"};
    version.ForEachTable([&](const LiveTable& table) {
      if (std::find(busy_.begin(), busy_.end(), table.id().value) != busy_.end()) {
        job.children.push_back(MakeTable({.id = table.id().value}));
      }
    });
    state_.busy.Add(job);
    const std::optional<CompactionPlan> plan = PickTreeCompaction(version, config_, state_);
    return plan.has_value() ? ToString(*plan) : "nothing";
  }

 private:
  void ReadConfig(std::istringstream& words) {
    for (std::string name; words >> name;) {
      double value = 0;
      words >> value;
      const auto kib = static_cast<uint64_t>(value) * kKiB;
      if (name == "table") {
        config_.table_bytes = kib;
      } else if (name == "level1") {
        config_.level1_bytes = kib;
      } else if (name == "ratio") {
        config_.level_ratio = static_cast<uint32_t>(value);
      } else if (name == "trigger") {
        config_.level0_tables_trigger = static_cast<uint32_t>(value);
      } else if (name == "full") {
        config_.level0_full_table_bytes = kib;
      } else if (name == "grandparents") {
        config_.grandparent_tables_max = static_cast<uint32_t>(value);
      } else if (name == "slack") {
        config_.slack = value;
      } else if (name == "log") {
        config_.log_share = value / 100;
      } else if (name == "deletes") {
        config_.deletes.share_max = value / 100;
      } else if (name == "reclaim") {
        config_.deletes.reclaim_min = value / 100;
      } else if (name == "late") {
        config_.deletes.slack_max = value / 100;
      } else if (name == "early") {
        config_.deletes.slack_min = value / 100;
      } else if (name == "trigger_max") {
        config_.level0_tables_max = static_cast<uint32_t>(value);
      } else {
        ADD_FAILURE() << "unknown option " << name;
      }
    }
  }

  // "3:a-f*20^2!100/4"
  void AddTable(Place place, const std::string& text) {
    FakeTable table;
    const size_t colon = text.find(':');
    const size_t dash = text.find('-');
    const size_t hot = text.find('^');
    const size_t star = text.find('*');
    const size_t dead = text.find('!');
    const size_t segments = text.find('/');
    table.id = std::stoull(text.substr(0, colon));
    table.smallest = text.substr(colon + 1, dash - colon - 1);
    table.largest = text.substr(dash + 1, std::min({star, hot, dead, segments, text.size()}) - dash - 1);
    table.bytes = star == std::string::npos ? config_.table_bytes : std::stoull(text.substr(star + 1)) * kKiB;
    table.hotness = hot == std::string::npos ? 0 : std::stoull(text.substr(hot + 1)) * table.entries;
    table.tombstones = dead == std::string::npos ? 0 : std::stoull(text.substr(dead + 1));
    table.segments = segments == std::string::npos ? 1 : std::stoull(text.substr(segments + 1));
    version_.Add(place, MakeView(table));
  }

  TreeConfig config_;
  TreePickerState state_;
  FakeVersion version_;
  std::vector<uint64_t> busy_;
};

class Scenarios : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Files, Scenarios, testing::Values("tree", "sst_log", "deletes"),
                         [](const auto& file) { return file.param; });

TEST_P(Scenarios, AreDecidedAsTheySay) {
  const std::vector<Scenario> scenarios = ReadScenarios(VARVE_SCENARIOS "/" + GetParam() + ".txt");
  ASSERT_GE(scenarios.size(), 15u);
  for (const Scenario& scenario : scenarios) {
    SCOPED_TRACE(scenario.claim);
    Stage stage;
    std::optional<std::string> expected;
    for (const std::string& line : scenario.lines) {
      if (std::optional<std::string> found = stage.Play(line)) {
        expected = std::move(found);
      }
    }
    ASSERT_TRUE(expected.has_value()) << "no line says what to expect";
    EXPECT_EQ(stage.Pick(), *expected);
  }
}

}  // namespace
}  // namespace varve
