// A working directory of one run: what the ranks write there is seen by nobody else, and what lies in the real one can
// be read through links.
#pragma once

#include <string>

namespace reprise::explore {

// Makes it, or makes it anew: nothing remains of the run before. False: errno says why.
bool renew_private_files(const std::string& directory);
// After the run: only what it has written stays. Nothing: neither does the directory.
void keep_written_files(const std::string& directory);

}  // namespace reprise::explore
