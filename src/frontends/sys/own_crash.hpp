// How a rank crashed is written down by its parent (reaped_children.cpp), if our library is in there. It is not in
// Slurm's slurmstepd, nor in what a launcher starts on other nodes by ssh. Such a rank says it itself.
#pragma once

namespace reprise::sys {

void note_own_crash();

}  // namespace reprise::sys
