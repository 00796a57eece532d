// What is done when the preload library is loaded: functions are looked up, file by file.
#pragma once

namespace reprise::sys {

void find_clocks();
void find_random_sources();
void find_random_devices();
void find_process_ids();
void find_timed_waits();

// A program without MPI starts here.
void begin_alone();

}  // namespace reprise::sys
