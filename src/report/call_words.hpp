// A logged call in words: its arguments, as far as the function has them, and what came of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analyze/call_kind.hpp"
#include "analyze/timeline.hpp"

namespace reprise::report {

using analyze::shown_arguments;
using analyze::ShownArguments;

// MPI_Comm_split and its like: the colour is logged as the tag, the key as the bytes.
bool is_split(std::string_view function);
std::string colour_words(const engine::Arguments& values);  // "colour 1, key 2"

std::string communicator_words(std::int64_t number);  // "world", "self", "comm 2"
std::string peer_words(std::int64_t peer);            // "3", "ANY", "NULL"
std::string tag_words(std::int64_t tag);

// "ANY -> 3 tag 7", "false x 117, then true", "index 2"; empty when nothing was decided.
std::string outcome_words(const analyze::Call& call);

// "comm 2 = MPI_Comm_split of world @3fa91c02; rank 1 of 2; world ranks 0, 2"
std::string communicator_definition_words(std::size_t number, const engine::CommunicatorRecord& communicator);

}  // namespace reprise::report
