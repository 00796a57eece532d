// MPI_Ialltoallw on a communicator with a topology reads behind its arrays of datatypes, and crashes. Run with 1 process.
// MPI 3.1, 5.12.6: the arrays have one entry for each process, whatever topology there is. Here six neighbours are looked for.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void ends(int signal) {
  (void)signal;
  static const char text[] = "WRONG: it crashes\n";
  if (write(1, text, sizeof text - 1) < 0) _exit(2);
  _exit(1);
}

int main(int argc, char** argv) {
  const int dims[3] = {1, 1, 1}, periods[3] = {1, 1, 1};
  int in[2] = {1, 2}, out[2] = {0, 0}, one = 1, zero = 0;
  struct {
    MPI_Datatype type;
    MPI_Datatype behind[7];  // not part of the array
  } send, receive;
  MPI_Comm grid;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  signal(SIGSEGV, ends);
  MPI_Type_contiguous(2, MPI_INT, &send.type);
  MPI_Type_commit(&send.type);
  receive.type = send.type;
  for (int i = 0; i < 7; ++i) send.behind[i] = receive.behind[i] = (MPI_Datatype)(size_t)16;
  MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &grid);
  MPI_Ialltoallw(in, &one, &zero, &send.type, out, &one, &zero, &receive.type, grid, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const int bad = out[0] != 1 || out[1] != 2;
  printf(bad ? "WRONG: %d %d, should be 1 2\n" : "ok\n", out[0], out[1]);
  MPI_Finalize();
  return bad;
}
