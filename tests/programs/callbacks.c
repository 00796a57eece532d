// Functions of the program that MPI calls, and that call MPI themselves: attribute functions, generalised requests, an
// error handler; an operation that only looks at its datatype.
#include "common.h"

enum { kRounds = 10 };

static int receive_one(const char* where, int tag) {
  int value;
  MPI_Status status;
  MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
  took(where, status.MPI_SOURCE, status.MPI_TAG, value);
  return value;
}

static int copy_attribute(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval;
  if (world_rank == 0) receive_one((const char*)extra, 1);
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value;
  if (world_rank == 0) receive_one((const char*)extra, 1);
  return MPI_SUCCESS;
}

static int query(void* extra, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_INT, *(int*)extra % 8);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  if (world_rank == 0) receive_one("query", 2);
  return MPI_SUCCESS;
}
static int release(void* extra) {
  *(int*)extra = 0;
  return MPI_SUCCESS;
}
static int cancel(void* extra, int complete) {
  (void)extra, (void)complete;
  return MPI_SUCCESS;
}

static void add_pairs(void* in, void* inout, int* length, MPI_Datatype* type) {
  int size;
  MPI_Type_size(*type, &size);
  for (int i = 0; i < *length; ++i) ((int*)inout)[i] += ((int*)in)[i] + size - 4;
}

static void on_error(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  if (world_rank == 0) receive_one("error", 3);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  int keyval, sum;
  MPI_Op op;
  MPI_Errhandler handler;
  MPI_Comm_create_keyval(copy_attribute, delete_attribute, &keyval, "attribute");
  MPI_Op_create(add_pairs, 1, &op);
  MPI_Comm_create_errhandler(on_error, &handler);
  for (int round = 0; round < kRounds; ++round) {
    const int peers = world_size - 1;
    if (world_rank != 0) {
      for (int tag = 1; tag <= 3; ++tag) {
        int value = world_rank * 100 + round;
        jitter(150);
        MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
      }
    } else {
      MPI_Comm copies[64];
      MPI_Comm source;
      MPI_Comm_dup(MPI_COMM_SELF, &source);
      MPI_Comm_set_attr(source, keyval, &sum);
      for (int i = 0; i < peers - 1; ++i) MPI_Comm_dup(source, &copies[i]);
      MPI_Comm_delete_attr(source, keyval);
      for (int i = 0; i < peers - 1; ++i) {
        // The copies keep the attribute to the end: there is no message left for its delete function.
        MPI_Comm_set_errhandler(copies[i], handler);
        int nothing = 0;
        MPI_Send(&nothing, 1, MPI_INT, 77, 0, copies[i]);  // no such rank
      }
      MPI_Request request;
      MPI_Status status;
      int state = round + 1, count;
      for (int i = 0; i < peers; ++i) {
        MPI_Grequest_start(query, release, cancel, &state, &request);
        MPI_Grequest_complete(request);
        if (i % 2) {
          MPI_Wait(&request, &status);
        } else {
          int flag = 0;
          while (!flag) MPI_Test(&request, &flag, &status);
        }
        MPI_Get_elements(&status, MPI_INT, &count);
        say("elements %d", count);
        state = round + i;
      }
      receive_one("last", 3);
      MPI_Comm_free(&source);
      say("kept %d copies", peers - 1);
    }
    MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    fold((uint64_t)sum);
  }
  MPI_Errhandler_free(&handler);
  MPI_Op_free(&op);
  finish();
}
