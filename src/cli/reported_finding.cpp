#include "cli/reported_finding.hpp"

namespace reprise::cli {

ReportedPlace read_place(int rank, analyze::NoteFields& fields, analyze::SourceLines& lines) {
  ReportedPlace place;
  place.rank = rank;
  place.call = fields.next();
  if (const analyze::SourceLine* const line = fields.site(lines)) {
    place.at = line->text();
    place.file = line->file;
    place.line = line->line;
  }
  return place;
}

}  // namespace reprise::cli
