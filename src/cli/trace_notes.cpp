#include "cli/trace_notes.hpp"

#include "base/process.hpp"
#include "base/text.hpp"

namespace reprise::cli {

std::vector<TraceNote> read_trace_notes(int dir_fd, const trace::Manifest& manifest) {
  constexpr std::size_t kLongest = 16 << 20;
  std::vector<TraceNote> notes;
  const auto content = read_file_at(dir_fd, "notes", kLongest, false);
  for (const std::string& line : split(content ? *content : manifest.notes, '\n')) {
    const auto fields = split(line, '\t');
    if (fields.size() != 3) continue;
    const auto rank = parse_number(fields[0]);
    if (rank && *rank <= UINT32_MAX) notes.push_back({static_cast<std::uint32_t>(*rank), fields[1], fields[2]});
  }
  return notes;
}

}  // namespace reprise::cli
