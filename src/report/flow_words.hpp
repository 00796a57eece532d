// Movements inside the MPI library in words.
#pragma once

#include <string>

#include "analyze/source_lines.hpp"
#include "flow/blame.hpp"

namespace reprise::report {

// "memcpy in libmpich.so.12 (MPIR_Typerep_unpack+0x1a4)"
std::string stage_words(const flow::Stage& stage, analyze::SourceLines& lines);
// What is moved in this way: "memcpy".
const char* movement_name(trace::IntentionRecord kind);
// "shared memory", "the send buffer"
std::string place_words(const flow::Place& place, const flow::Journey& journey);
// "from the send buffer to shared memory"
std::string route_words(const flow::Hop& hop, const flow::Journey& journey);
// What the movement that is blamed did to the bytes.
std::string blame_words(const flow::Blame& blame);

}  // namespace reprise::report
