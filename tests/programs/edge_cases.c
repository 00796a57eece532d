// Messages without data, messages to oneself, MPI_PROC_NULL, null requests, empty arrays.
#include "common.h"

enum { kEach = 20 };

static void describe(const char* what, const MPI_Status* status) {
  int count;
  MPI_Get_count(status, MPI_INT, &count);
  const char* source = status->MPI_SOURCE == MPI_PROC_NULL    ? "null"
                       : status->MPI_SOURCE == MPI_ANY_SOURCE ? "any"
                                                              : "a rank";
  say("%s: %s, tag %s, count %d", what, source, status->MPI_TAG == MPI_ANY_TAG ? "any" : "given", count);
}

static void nobody(void) {
  MPI_Status status;
  MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int value = 7, flag = -1, index, count, indices[3];
  MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
  MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  describe("recv from nobody", &status);
  MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
  MPI_Wait(&requests[0], &status);
  describe("irecv from nobody", &status);
  MPI_Wait(&requests[1], &status);
  describe("wait for null", &status);
  MPI_Test(&requests[1], &flag, &status);
  describe(flag ? "test null: true" : "test null: false", &status);
  MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE);
  say("testall nulls: %d", flag);
  MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
  MPI_Waitany(0, NULL, &index, &status);
  MPI_Testsome(3, requests, &count, indices, MPI_STATUSES_IGNORE);
  say("value still %d, waitany of none %s, testsome of nulls %s", value, index == MPI_UNDEFINED ? "undefined" : "?",
      count == MPI_UNDEFINED ? "undefined" : "?");
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  nobody();
  if (world_rank == 0) {
    MPI_Status status;
    for (int i = 0; i < kEach; ++i) {
      MPI_Request own;
      MPI_Isend(NULL, 0, MPI_INT, 0, 50 + i, MPI_COMM_WORLD, &own);
      for (int k = 0; k < world_size; ++k) {
        int count;
        MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        took("empty", status.MPI_SOURCE, status.MPI_TAG, count);
      }
      MPI_Wait(&own, MPI_STATUS_IGNORE);
    }
  } else {
    for (int i = 0; i < kEach; ++i) {
      jitter(200);
      MPI_Send(NULL, 0, MPI_INT, 0, i, MPI_COMM_WORLD);
    }
  }
  nobody();
  finish();
}
