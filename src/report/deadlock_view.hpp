// What a person reads about a deadlock among threads.
#pragma once

#include <string>
#include <vector>

#include "analyze/thread_deadlock.hpp"

namespace reprise::report {

// A sentence, and then what each thread holds and waits for.
std::vector<std::string> deadlock_lines(const analyze::ThreadDeadlock& deadlock);

}  // namespace reprise::report
