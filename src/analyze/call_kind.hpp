// What a function is for, as far as reports and filters care, told by its name: which of the four logged arguments it
// has, and what it may wait for.
#pragma once

#include <string_view>

#include "engine/call_model.hpp"

namespace reprise::analyze {

enum class Role {
  Other,
  Send,        // a message leaves in this call; combined calls too
  Receive,     // from a named source or any
  Probe,       //
  Completion,  // waits for requests
  Start,       // a persistent request, which knows its peer; the call does not
  Collective,  // over the communicator; whoever is missing is waited for
  Event,       // reprise_event
  Read,        // of a clock, a random source and the like: not a function of MPI
};

struct CallKind {
  Role role = Role::Other;
  bool blocking = true;     // returns only when its work is done
  bool persistent = false;  // only prepares a request (..._init)
  bool known = false;       // the next four are so for every call of this function
  bool communicator = false;
  bool peer = false;
  bool tag = false;
  bool bytes = false;
  bool moves_bytes = false;  // the last argument is a number of bytes, not of requests or the like
  bool of_nodes = false;     // MCAPI: those who send and receive are nodes, and arguments name endpoints
};
CallKind kind_of(std::string_view function);

// The log holds 0 for arguments that a function does not have; these say which ones are worth showing.
struct ShownArguments {
  bool communicator = false;
  bool peer = false;
  bool tag = false;
  bool bytes = false;
};
ShownArguments shown_arguments(const CallKind& kind, const engine::Arguments& values);
inline ShownArguments shown_arguments(std::string_view function, const engine::Arguments& values) {
  return shown_arguments(kind_of(function), values);
}

}  // namespace reprise::analyze
