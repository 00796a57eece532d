#include "report/terminal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace reprise::report {

Paint::Paint(int fd) {
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  on_ = ::isatty(fd) == 1 && !(refused && *refused) && !(terminal && std::string_view(terminal) == "dumb");
}

std::string Paint::in(std::string_view code, std::string_view text) const {
  if (!on_ || text.empty()) return std::string(text);
  std::string out = "\033[";
  out.append(code).append("m").append(text).append("\033[0m");
  return out;
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(std::string_view text, std::size_t width, bool right) {
  const std::size_t have = width_of(text);
  const std::string space(have < width ? width - have : 0, ' ');
  return right ? space + std::string(text) : std::string(text) + space;
}

}  // namespace reprise::report
