// The trace's file `exits`: how processes ended, one line each. Nothing here allocates or locks once prepared, since it
// is used in signal handlers.
#pragma once

#include <sys/types.h>

namespace reprise::sys {

void prepare_exits();  // when the library is loaded
void write_exit(pid_t pid, int wait_status);

}  // namespace reprise::sys
