#include "tools/fsck_report.h"

#include <fmt/core.h>

#include <utility>

#include "tools/streams.h"

namespace varve {

namespace {

// Enough to see what is wrong.
constexpr uint64_t kLinesShown = 200;

// "/a/b (inode 7): what is wrong"
std::string Line(std::string_view path, const NamespaceProblem& problem) {
  if (problem.inode.value == 0) {
    return problem.what;
  }
  const std::string inode = fmt::format("(inode {})", problem.inode.value);
  return path == inode ? fmt::format("{}: {}", path, problem.what)
                       : fmt::format("{} {}: {}", path, inode, problem.what);
}

}  // namespace

void ProblemLines::Print(std::string_view line, Progress& progress) {
  if (++lines_ <= kLinesShown) {
    progress.Finish();
    std::string text;
    AppendEscaped(text, line);
    fmt::print("{}\n", text);
  }
}

void ProblemLines::End() {
  if (lines_ > kLinesShown) {
    fmt::print("and {} more\n", lines_ - kLinesShown);
  }
  lines_ = 0;
}

void StoreProblemPrinter::OnProblem(StoreProblem problem) {
  lines_.Print(problem.what, progress_);
  if (problem.keys) {
    damaged_keys_.push_back(std::move(*problem.keys));
  }
}

void StoreProblemPrinter::Finish() {
  progress_.Finish();
  lines_.End();
}

void DamagePrinter::Damaged(std::string_view path, std::string_view part) {
  ++parts_;
  lines_.Print(fmt::format("  {}: {}", path, part), progress_);
}

void NamespaceProblemList::Print(const FoundNames& found) const {
  for (const NamespaceProblem& problem : problems_) {
    std::string text;
    AppendEscaped(text, Line(found.PathOf(problem.inode), problem));
    fmt::print("{}\n", text);
  }
  if (count_ > problems_.size()) {
    fmt::print("and {} more\n", count_ - problems_.size());
  }
}

void RepairPrinter::Mended(std::string_view path, const NamespaceProblem& problem, std::string_view outcome) {
  ++mended_;
  lines_.Print(fmt::format("{}: {}", Line(path, problem), outcome), progress_);
}

void RepairPrinter::Left(std::string_view path, const NamespaceProblem& problem) {
  lines_.Print(fmt::format("{}: left as it is", Line(path, problem)), progress_);
}

void RepairPrinter::Finish() {
  progress_.Finish();
  lines_.End();
}

void NamespaceProblemList::Problem(const NamespaceProblem& problem) {
  if (++count_ <= kLinesShown) {
    problems_.push_back(problem);
  }
}

}  // namespace varve
