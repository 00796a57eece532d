// The threads of this process as the kernel sees them.
//
// Used inside somebody else's program, by threads of our own: no exceptions, little allocation.
#pragma once

#include <functional>

namespace reprise {

int own_task();
// 'R' running, 'S' asleep, 'Z' ended, ...; '?' if there is no such thread.
char task_state(int id);
// Is it waiting for a word in memory to change? Where the kernel does not say, a thread that sleeps is believed to.
bool task_waits_in_futex(int id);
bool each_task(const std::function<void(int id)>& visit);

// The program's main thread has ended by pthread_exit, and no thread is left but the running one: when that ends, too,
// so does the process, as it would have without us.
bool is_last_task();

}  // namespace reprise
