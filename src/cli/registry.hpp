// The traces that this user recorded on this machine.
//
// A trace names a command, and replaying it runs that command. One's own traces are replayed without a question; one
// that came from elsewhere, or whose manifest was changed since, is not in this list.
#pragma once

#include <string>

#include "trace/manifest.hpp"

namespace reprise::cli {

// Failing is not an error: the price is one question at replay.
void register_trace(const trace::Manifest& manifest);
bool is_own(const trace::Manifest& manifest);

// $XDG_STATE_HOME/reprise/traces, or below ~/.local/state; empty if there is no home.
std::string registry_path();

}  // namespace reprise::cli
