// reprise check --sweep: legal calls of all kinds, made by a program of ours (share/sweep), under the checker; for somebody who
// has just built an MPI library.
#pragma once

namespace reprise::cli {

// The arguments are those of `reprise check`.
int sweep_command(int argc, char** argv);

}  // namespace reprise::cli
