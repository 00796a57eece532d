// An error handler that throws: the exception crosses the MPI library and the interposed call, and the program goes on
// receiving. Which receive throws depends on who was first.
#include <stdexcept>

#include "common.h"

namespace {

constexpr int kEach = 15;
constexpr int kRoom = 2;

void throw_error(MPI_Comm*, int* code, ...) {
  int error_class = 0;
  MPI_Error_class(*code, &error_class);
  throw std::runtime_error(error_class == MPI_ERR_TRUNCATE ? "truncated" : "another error");
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Errhandler throwing;
  MPI_Comm_create_errhandler(throw_error, &throwing);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, throwing);
  if (world_rank == 0) {
    for (int i = 0; i < kEach * (world_size - 1); ++i) {
      int values[kRoom] = {};
      MPI_Status status;
      try {
        MPI_Recv(values, kRoom, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        took("got", status.MPI_SOURCE, status.MPI_TAG, values[0]);
      } catch (const std::exception& error) {
        fold(static_cast<std::uint64_t>(i));
        say("receive %d: %s", i, error.what());
      }
    }
  } else {
    for (int i = 0; i < kEach; ++i) {
      int values[kRoom + 1] = {world_rank * 1000 + i, 1, 2};
      jitter(250);
      MPI_Send(values, 1 + (i + world_rank) % (kRoom + 1), MPI_INT, 0, i % 4, MPI_COMM_WORLD);
    }
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&throwing);
  finish();
}
