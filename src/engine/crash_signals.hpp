// Signals that a process brings upon itself. Both modes must know of them before they take their course: a replaying
// rank waits for the others first, and a recording one whose end nobody would see writes it down.
#pragma once

namespace reprise::engine {

// Calls `before` when such a signal has come, with the place where the program was (only async-signal-safe things may
// be done there), and then lets the signal do what it would have done without us. Signals that the program handles
// itself are left to it.
void before_crash(void (*before)(int signal, const void* address));

}  // namespace reprise::engine
