// Copies inside the MPI library that go wrong: see journeys_faults.c.
#ifndef JOURNEYS_FAULTS_H
#define JOURNEYS_FAULTS_H

void prepare_fault(int rank);
void arm_fault(int on);

#endif
