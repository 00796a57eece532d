// Colour, where a person looks: only on a terminal, and never when NO_COLOR is set (https://no-color.org).
#pragma once

#include <string>
#include <string_view>

namespace reprise::report {

class Paint {
 public:
  explicit Paint(int fd);  // decides whether text for this descriptor is coloured
  explicit Paint(bool on) : on_(on) {}

  std::string bold(std::string_view text) const { return in("1", text); }
  std::string dim(std::string_view text) const { return in("2", text); }
  std::string good(std::string_view text) const { return in("32", text); }
  std::string careful(std::string_view text) const { return in("33", text); }
  std::string bad(std::string_view text) const { return in("31", text); }

 private:
  std::string in(std::string_view code, std::string_view text) const;
  bool on_ = false;
};

// Terminal columns that UTF-8 text takes, near enough for tables.
std::size_t width_of(std::string_view text);
std::string padded(std::string_view text, std::size_t width, bool right = false);

}  // namespace reprise::report
