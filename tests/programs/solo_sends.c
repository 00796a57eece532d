// What rank 0 sends depends on a file that MPI does not know of: DIR/number. Rank 1 sends it back.
#include "common.h"

static int number_in_file(void) {
  char path[4096];
  int number = 0;
  snprintf(path, sizeof path, "%s/number", out_dir);
  FILE* file = fopen(path, "r");
  if (!file) return 0;
  if (fscanf(file, "%d", &number) != 1) number = 0;
  fclose(file);
  return number;
}

// Also by a request, by a persistent one, and out of a vector with holes.
static void send_to(int rank, int number) {
  int values[8] = {1, 0, 1, 0, 1, 0, number, 0};
  MPI_Request request;
  MPI_Datatype every_other;
  MPI_Send(values, 4, MPI_INT, rank, 1, MPI_COMM_WORLD);
  MPI_Type_vector(4, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  MPI_Send_init(values, 1, every_other, rank, 2, MPI_COMM_WORLD, &request);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  MPI_Type_free(&every_other);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (world_size != 2) die("two ranks");
  int values[4];
  if (world_rank == 0) send_to(1, number_in_file());
  for (int i = 0; world_rank == 1 && i < 2; ++i) {
    MPI_Recv(values, 4, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    say("got %d %d %d %d", values[0], values[1], values[2], values[3]);
  }
  finish();
}
