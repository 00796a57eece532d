#include "cli/trace_notes.hpp"

#include "analyze/note_fields.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/speech.hpp"
#include "report/deadlock_view.hpp"

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

std::string not_solo_text(const TraceNote& note) {
  analyze::NoteFields fields(note.text);
  const std::string what = printable(fields.next());
  analyze::SourceLines lines;
  const analyze::SourceLine* const line = fields.site(lines);
  return line ? what + " at " + line->text() : what;
}

std::vector<analyze::DeadlockNote> deadlock_notes(const std::vector<TraceNote>& notes) {
  std::vector<analyze::DeadlockNote> found;
  constexpr std::size_t kMost = 4096;  // of a trace that a stranger may have written
  for (const TraceNote& note : notes)
    if (note.key == "deadlock" && found.size() < kMost) found.push_back({note.rank, note.text});
  return found;
}

void say_deadlocks(const std::vector<analyze::DeadlockNote>& notes) {
  constexpr std::size_t kShown = 4;
  analyze::SourceLines lines;
  const auto deadlocks = analyze::read_deadlocks(notes, lines);
  for (std::size_t i = 0; i < std::min(deadlocks.size(), kShown); ++i)
    for (const std::string& line : report::deadlock_lines(deadlocks[i])) say("{}", line);
  if (deadlocks.size() > kShown) say("and {} more (reprise show --json)", deadlocks.size() - kShown);
}

}  // namespace reprise::cli
