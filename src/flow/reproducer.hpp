// A program that shows what went wrong without the one in which it did: for the developers of the MPI library.
#pragma once

#include <optional>
#include <string>

#include "flow/verdict.hpp"

namespace reprise::flow {

struct Reproducer {
  std::string source;  // one file of C99
  int ranks = 0;       // that it must be run with
};

// The same call, with the same shape of communicator, counts, displacements and datatypes, on data of its own. It says
// "ok", or "WRONG: ..." and ends with status 1; with another number of ranks it ends with 2.
// `blamed`: the datatype that a violation is about which is about no call, or null. `name`: that of its file.
// Nothing: `why` says why it cannot be done (a datatype that cannot be taken apart, a member that is missing, ...).
std::optional<Reproducer> reproducer(const Violation& violation, const LoggedType* blamed, const std::string& name,
                                     std::string& why);

}  // namespace reprise::flow
