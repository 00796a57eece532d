// A logged call in words: its arguments, as far as the function has them, and what came of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analyze/timeline.hpp"

namespace reprise::report {

// The log holds 0 for arguments that a function does not have; these say which ones are worth showing.
struct ShownArguments {
  bool communicator = false;
  bool peer = false;
  bool tag = false;
  bool bytes = false;
};
ShownArguments shown_arguments(std::string_view function, const engine::Arguments& values);

// MPI_Comm_split and its like: the colour is logged as the tag, the key as the bytes.
bool is_split(std::string_view function);
std::string colour_words(const engine::Arguments& values);  // "colour 1, key 2"

std::string communicator_words(std::int64_t number);  // "world", "self", "comm 2"
std::string peer_words(std::int64_t peer);            // "3", "ANY", "NULL"
std::string tag_words(std::int64_t tag);

// "ANY -> 3 tag 7", "false x 117, then true", "index 2"; empty when nothing was decided.
std::string outcome_words(const analyze::Call& call);

// "comm 2 = MPI_Comm_split of world; rank 1 of 2; world ranks 0, 2"
std::string communicator_definition_words(std::size_t number, const engine::CommunicatorRecord& communicator);

}  // namespace reprise::report
