#include "tools/json_outline.h"

#include <fmt/core.h>

#include <charconv>
#include <utility>

#include "tools/sizes.h"

namespace varve {

namespace {

constexpr int kNestingMax = 64;

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::string FormatNanos(uint64_t nanos) {
  const auto n = static_cast<double>(nanos);
  if (nanos < 10'000) {
    return fmt::format("{} ns", nanos);
  }
  if (nanos < 10'000'000) {
    return fmt::format("{:.1f} us", n / 1e3);
  }
  if (nanos < 10'000'000'000) {
    return fmt::format("{:.1f} ms", n / 1e6);
  }
  return fmt::format("{:.1f} s", n / 1e9);
}

// What is shown for the number `text` of the member `name`. `in_nanos`: it lies in an object of times.
std::string FormatNumber(std::string_view name, std::string_view text, bool in_nanos) {
  uint64_t n = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), n);
  if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size()) {
    if (EndsWith(name, "_bytes") || name == "bytes") {
      return FormatSize(n);
    }
    if (EndsWith(name, "_nanos") || name == "nanos" || (in_nanos && name != "count")) {
      return FormatNanos(n);
    }
  }
  return std::string(text);
}

// Recursive descent over the grammar of RFC 8259, as strict as telling values apart demands.
class Outliner {
 public:
  explicit Outliner(std::string_view json) : rest_(json) {}

  bool Document() {
    SkipSpace();
    const bool good = !rest_.empty() && (rest_[0] == '{' ? Object(0) : Value("", 0));
    SkipSpace();
    return good && rest_.empty();
  }
  std::string& lines() { return lines_; }

 private:
  void SkipSpace() { rest_.remove_prefix(std::min(rest_.size(), rest_.find_first_not_of(" \t\r\n"))); }
  bool Take(char c) {
    SkipSpace();
    if (rest_.empty() || rest_[0] != c) {
      return false;
    }
    rest_.remove_prefix(1);
    return true;
  }
  bool Next(char c) {
    SkipSpace();
    return !rest_.empty() && rest_[0] == c;
  }
  void Line(int depth, std::string_view text) {
    lines_.append(2 * static_cast<size_t>(depth), ' ');
    lines_ += text;
    lines_ += '\n';
  }

  // Figures stand under each other at all depths.
  void Figure(int depth, std::string_view name, std::string_view figure) {
    Line(depth, fmt::format("{:<{}} {}", name, 30 - 2 * std::min(depth, 10), figure));
  }

  // A string with its escapes as they are: a control character cannot reach the terminal.
  std::optional<std::string_view> String() {
    if (!Take('"')) {
      return std::nullopt;
    }
    for (size_t at = 0; at < rest_.size(); ++at) {
      if (rest_[at] == '\\') {
        ++at;
      } else if (rest_[at] == '"') {
        const std::string_view text = rest_.substr(0, at);
        rest_.remove_prefix(at + 1);
        return text;
      } else if (static_cast<unsigned char>(rest_[at]) < 0x20) {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  // A string, number or word.
  std::optional<std::string> Scalar(std::string_view name) {
    if (Next('"')) {
      const std::optional<std::string_view> text = String();
      return text.has_value() ? std::optional<std::string>(*text) : std::nullopt;
    }
    const size_t end = std::min(rest_.size(), rest_.find_first_of(",]} \t\r\n"));
    const std::string_view text = rest_.substr(0, end);
    if (text.empty() || text.find_first_not_of("0123456789+-.eEaflnrstu") != std::string_view::npos) {
      return std::nullopt;
    }
    rest_.remove_prefix(end);
    return FormatNumber(name, text, in_nanos_);
  }

  bool Value(std::string_view name, int depth) {
    if (Next('{') || Next('[')) {
      if (nesting_ == kNestingMax) {
        return false;
      }
      ++nesting_;
      const bool good = Next('{') ? Member(name, depth) : Array(name, depth);
      --nesting_;
      return good;
    }
    const std::optional<std::string> text = Scalar(name);
    if (!text.has_value()) {
      return false;
    }
    Figure(depth, name, *text);
    return true;
  }

  bool Member(std::string_view name, int depth) {
    if (in_nanos_) {
      return Times(name, depth);
    }
    Line(depth, name);
    const bool outer = std::exchange(in_nanos_, in_nanos_ || EndsWith(name, "_nanos"));
    const bool good = Object(depth + 1);
    in_nanos_ = outer;
    return good;
  }

  // A histogram of times, on one line: "count 3, mean 1.2 us, …".
  bool Times(std::string_view name, int depth) {
    std::string line;
    if (!Take('{')) {
      return false;
    }
    if (!Next('}')) {
      do {
        const std::optional<std::string_view> member = String();
        if (!member.has_value() || !Take(':') || Next('{') || Next('[')) {
          return false;
        }
        const std::optional<std::string> text = Scalar(*member);
        if (!text.has_value()) {
          return false;
        }
        line += fmt::format("{}{} {}", line.empty() ? "" : ", ", *member, *text);
      } while (Take(','));
    }
    Figure(depth, name, line.empty() || line.starts_with("count 0,") ? "none" : line);
    return Take('}');
  }

  bool Object(int depth) {
    if (!Take('{')) {
      return false;
    }
    if (Take('}')) {
      return true;
    }
    do {
      const std::optional<std::string_view> name = String();
      if (!name.has_value() || !Take(':') || !Value(*name, depth)) {
        return false;
      }
    } while (Take(','));
    return Take('}');
  }

  bool Array(std::string_view name, int depth) {
    if (!Take('[')) {
      return false;
    }
    std::string plain;
    bool has_structure = false;
    size_t ordinal = 0;
    if (!Next(']')) {
      do {
        if (Next('{') || Next('[')) {
          has_structure = true;
          if (!Value(fmt::format("{}[{}]", name, ordinal), depth)) {
            return false;
          }
        } else {
          const std::optional<std::string> text = Scalar(name);
          if (!text.has_value()) {
            return false;
          }
          plain += (plain.empty() ? "" : ", ") + *text;
        }
        ++ordinal;
      } while (Take(','));
    }
    if (!has_structure) {
      Figure(depth, name, plain.empty() ? "none" : plain);
    }
    return Take(']');
  }

  std::string_view rest_;
  std::string lines_;
  int nesting_ = 0;
  bool in_nanos_ = false;
};

}  // namespace

std::optional<std::string> OutlineOfJson(std::string_view json) {
  Outliner outliner(json);
  if (!outliner.Document()) {
    return std::nullopt;
  }
  return std::move(outliner.lines());
}

}  // namespace varve
