// What is looked up when the preload library is loaded, file by file.
#pragma once

namespace reprise::sys {

void find_clocks();
void find_random_sources();
void find_random_devices();
void find_process_ids();
void find_timed_waits();

}  // namespace reprise::sys
