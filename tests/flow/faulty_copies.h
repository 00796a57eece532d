// Copies inside the MPI library that go wrong: see faulty_copies.c.
#ifndef FAULTY_COPIES_H
#define FAULTY_COPIES_H

void prepare_fault(int rank);
void arm_fault(int on);

#endif
