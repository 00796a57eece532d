// Something that is wrong with a program, in words and source lines: whoever found it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/note_fields.hpp"
#include "engine/category.hpp"

namespace reprise::cli {

struct ReportedPlace {
  int rank = 0;
  std::uint32_t thread = 0;
  std::string call;  // MPI_Recv
  std::string at;    // "sum.c:41 (main)"
  std::string file;
  int line = 0;
  std::string detail;  // "from 2, tag 5"
};

// The fields of a note from the call on (check::place_fields).
ReportedPlace read_place(int rank, analyze::NoteFields& fields, analyze::SourceLines& lines);

struct ReportedFinding {
  engine::Category category = engine::Category::Deadlock;
  std::string words;
  std::vector<ReportedPlace> places;
  std::uint64_t order = 0;  // of an exploration
  std::string saved;        // a trace
};

}  // namespace reprise::cli
