// The second start of an MPI_Bsend_init request sends something else. Run with 1 process.
// MPI 3.1, 3.9: a start is like the nonblocking call with the same arguments, with what the buffer holds then.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCount = 512 };

int main(int argc, char** argv) {
  int in[kCount], out[kCount], size = 100000, bad = 0;
  void* buffer = calloc(1, (size_t)size);
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Buffer_attach(buffer, size);
  MPI_Bsend_init(in, kCount, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
  for (int start = 0; start < 2; ++start) {
    for (int i = 0; i < kCount; ++i) in[i] = 1000 * (start + 1);
    MPI_Start(&request);
    MPI_Recv(out, kCount, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (out[0] != in[0]) printf("WRONG: start %d brings %d, should be %d\n", start + 1, out[0], in[0]), ++bad;
  }
  if (!bad) printf("ok\n");
  MPI_Request_free(&request);
  MPI_Buffer_detach(&buffer, &size);
  free(buffer);
  MPI_Finalize();
  return bad > 0;
}
