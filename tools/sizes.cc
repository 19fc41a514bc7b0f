#include "tools/sizes.h"

#include <fmt/core.h>

#include <cctype>
#include <charconv>
#include <cmath>

namespace varve {

namespace {

constexpr std::string_view kUnits = "KMGTP";

std::string Upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) {
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return upper;
}

}  // namespace

std::optional<uint64_t> ParseSize(std::string_view text) {
  std::string unit = Upper(text.substr(std::min(text.size(), text.find_first_not_of("0123456789."))));
  const std::string_view number = text.substr(0, text.size() - unit.size());
  int shift = 0;
  if (!unit.empty() && kUnits.find(unit[0]) != std::string_view::npos) {
    shift = 10 * static_cast<int>(kUnits.find(unit[0]) + 1);
    unit.erase(0, 1);
    if (unit == "B" || unit == "IB") {
      unit.clear();
    }
  } else if (unit == "B") {
    unit.clear();
  }
  if (number.empty() || !unit.empty()) {
    return std::nullopt;
  }
  const char* end = number.data() + number.size();
  uint64_t whole = 0;
  if (const auto parsed = std::from_chars(number.data(), end, whole);
      parsed.ec == std::errc() && parsed.ptr == end) {
    if (whole > UINT64_MAX >> shift) {
      return std::nullopt;
    }
    return whole << shift;
  }
  double fraction = 0;
  if (const auto parsed = std::from_chars(number.data(), end, fraction);
      parsed.ec != std::errc() || parsed.ptr != end) {
    return std::nullopt;
  }
  const double bytes = std::ldexp(fraction, shift);
  if (shift == 0 || bytes >= 0x1p64) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(bytes);
}

std::string FormatSize(uint64_t bytes) {
  if (bytes < 1024) {
    return fmt::format("{} B", bytes);
  }
  double scaled = static_cast<double>(bytes);
  size_t unit = 0;
  do {
    scaled /= 1024;
    ++unit;
  } while (scaled >= 1023.5 && unit < kUnits.size());
  const int decimals = scaled < 9.995 ? 2 : (scaled < 99.95 ? 1 : 0);
  return fmt::format("{:.{}f} {}iB", scaled, decimals, kUnits[unit - 1]);
}

}  // namespace varve
