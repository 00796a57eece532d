// The fields of a note that a rank has left, separated by '|'. A call site comes last (base/site_text.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analyze/source_lines.hpp"

namespace reprise::analyze {

class NoteFields {
 public:
  explicit NoteFields(std::string_view text) : rest_(text) {}

  std::string next();      // empty if there is none
  std::uint64_t number();  // 0 if it is none
  // What is left is a call site. Null if the rank did not know it.
  const SourceLine* site(SourceLines& lines);

 private:
  std::string_view rest_;
};

}  // namespace reprise::analyze
