// Is this thread inside a call of the program that a front end of ours serves? Then what is called meanwhile (by the
// MPI library, by ourselves) is not the program's, and passes through unseen.
#pragma once

namespace reprise::frontends {

inline thread_local bool t_inside __attribute__((tls_model("initial-exec"))) = false;

}  // namespace reprise::frontends
