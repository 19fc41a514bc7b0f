// Runs tests/scenarios/buffer.txt; its README says how to read it.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "engine/version/buffer.h"
#include "engine/version/version_edit.h"
#include "tests/support/table_views.h"

namespace varve {
namespace {

KeyRange RangeOf(const std::string& text) {
  return {text.substr(0, text.find('-')), text.substr(text.find('-') + 1)};
}

// Level 2, and its buffer.
class Scenario {
 public:
  void Run(const std::string& line) {
    std::istringstream words(line);
    std::string what;
    std::string word;
    words >> what;
    std::vector<std::string> rest;
    while (words >> word) {
      rest.push_back(word);
    }
    if (what == "merge") {
      Merge(rest);
    } else if (what == "move" || what == "leaves") {
      VersionEdit edit;
      edit.buffer_elements.push_back({2, {}, RangeOf(rest.at(0))});
      Apply(edit);
    } else if (what == "trim") {
      Trim(rest);
    } else if (what == "expect") {
      Expect(rest, line);
    } else {
      ADD_FAILURE() << "no such line: " << line;
    }
  }

 private:
  void Merge(const std::vector<std::string>& words) {
    VersionEdit edit;
    VersionEdit::BufferElement element{2, {}, RangeOf(words.at(1))};
    for (size_t i = 3; i < words.size(); ++i) {
      element.kept.Append(RangeOf(words[i]));
    }
    if (!element.kept.empty()) {
      element.view = MakeView({.id = std::stoull(words[0]),
                               .smallest = element.range.smallest,
                               .largest = element.range.largest});
    }
    edit.buffer_elements.push_back(std::move(element));
    Apply(edit);
  }

  void Trim(const std::vector<std::string>& words) {
    VersionEdit edit;
    for (const BufferedView& view : version_.level(2).buffer.views()) {
      if (view.table->id() == TableId(std::stoull(words.at(0)))) {
        const bool nothing = words.at(2) == "nothing";
        edit.trimmed_views.push_back({2, view.stamp, nothing ? KeySpans() : KeySpans::Of(RangeOf(words[2]))});
      }
    }
    ASSERT_EQ(edit.trimmed_views.size(), 1U);
    Apply(edit);
  }

  void Expect(const std::vector<std::string>& words, const std::string& line) {
    std::string found;
    const auto add = [&](const LiveTable& table) {
      found += (found.empty() ? "" : " ") + std::to_string(table.id().value);
    };
    if (words.at(0) == "views") {
      version_.ForEachBufferedView([&](uint32_t, const BufferedView& view) { add(*view.table); });
    } else {
      for (const LiveTable* table : version_.level(2).buffer.At(words[0])) {
        add(*table);
      }
    }
    std::string expected;
    for (size_t i = 1; i < words.size(); ++i) {
      expected += (expected.empty() ? "" : " ") + words[i];
    }
    EXPECT_EQ(found.empty() ? "none" : found, expected) << line << "\n" << version_.BuffersToString();
  }

  void Apply(VersionEdit edit) {
    InstallStamp stamp = version_.counters().next_stamp;
    for (VersionEdit::BufferElement& element : edit.buffer_elements) {
      element.stamp = stamp;
      stamp = stamp.Next();
    }
    edit.next_stamp = stamp;
    Result<Version> next = ApplyVersionEdit(version_, edit, *tables_);
    ASSERT_TRUE(next.ok()) << next.ToString();
    version_ = std::move(next).value();
  }

  std::shared_ptr<LiveTables> tables_ = std::make_shared<LiveTables>(nullptr);
  Version version_;
};

TEST(BufferScenarios, EachIsAsItSays) {
  std::ifstream file(SCENARIOS);
  ASSERT_TRUE(file.is_open());
  std::unique_ptr<Scenario> scenario;
  std::string claim;
  std::string line;
  int scenarios = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line.starts_with('#')) {
      continue;
    }
    if (line.starts_with("== ")) {
      claim = line.substr(3);
      scenario = std::make_unique<Scenario>();
      ++scenarios;
      continue;
    }
    SCOPED_TRACE(claim);
    scenario->Run(line);
  }
  EXPECT_GE(scenarios, 10);
}

}  // namespace
}  // namespace varve
