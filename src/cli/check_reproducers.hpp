// Stand-alone programs that show what `check` has found, made and tried.
#pragma once

#include <string>
#include <vector>

#include "flow/verdict.hpp"

namespace reprise::cli {

struct MadeReproducer {
  std::string path;  // empty: there is none
  std::string words;  // whether it shows it, or why there is none
  bool shows = false;
};

// The compiler and the launcher that belong to the launcher of this command ("mpirun.mpich" -> "mpicc.mpich"); otherwise those
// of the MPI of that name. Empty if there are none.
struct Toolchain {
  std::string compiler;
  std::string launcher;
};
Toolchain find_toolchain(const std::vector<std::string>& command, const std::string& mpi);

// Writes reproducer-`number`.c into the directory, compiles and runs it. `blamed`: see flow::reproducer().
MadeReproducer make_reproducer(const flow::Violation& violation, const flow::LoggedType* blamed, const std::string& directory,
                               std::size_t number, const Toolchain& tools);

}  // namespace reprise::cli
