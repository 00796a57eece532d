// MPI_Igather on an intercommunicator hangs if the senders use different datatypes of one signature. Run with 3 processes.
// MPI 3.1, 5.5: the type signatures must match, not the datatypes. All send 2400 floats, rank 1 as 800 items of three.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { kCount = 2400 };

static void ends(int signal) {
  (void)signal;
  static const char text[] = "WRONG: it hangs\n";
  if (write(1, text, sizeof text - 1) < 0) _exit(2);
  _exit(1);
}

int main(int argc, char** argv) {
  static float in[kCount], out[2 * kCount];
  int rank, bad = 0;
  MPI_Comm local, inter;
  MPI_Datatype three;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  signal(SIGALRM, ends);
  alarm(5);
  MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, rank == 0, 3, &inter);
  MPI_Type_contiguous(3, MPI_FLOAT, &three);
  MPI_Type_commit(&three);
  for (int i = 0; i < kCount; ++i) in[i] = (float)(rank * kCount + i);
  if (rank == 0) MPI_Igather(NULL, 0, MPI_FLOAT, out, kCount, MPI_FLOAT, MPI_ROOT, inter, &request);
  if (rank == 1) MPI_Igather(in, kCount / 3, three, NULL, 0, MPI_FLOAT, 0, inter, &request);
  if (rank == 2) MPI_Igather(in, kCount, MPI_FLOAT, NULL, 0, MPI_FLOAT, 0, inter, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; rank == 0 && i < 2 * kCount; ++i) bad += out[i] != (float)(kCount + i);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf(bad ? "WRONG: other numbers\n" : "ok\n");
  MPI_Finalize();
  return bad > 0;
}
