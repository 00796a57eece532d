#include "analyze/note_fields.hpp"

#include "base/text.hpp"

namespace reprise::analyze {

std::string NoteFields::next() {
  const auto end = rest_.find('|');
  const std::string field(rest_.substr(0, end));
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  return field;
}

std::uint64_t NoteFields::number() { return parse_number(next()).value_or(0); }

const SourceLine* NoteFields::site(SourceLines& lines) {
  const std::uint64_t offset = number();
  const std::string build_id = next();
  return rest_.empty() ? nullptr : &lines.find(std::string(rest_), build_id, offset);
}

}  // namespace reprise::analyze
