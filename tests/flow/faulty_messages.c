// Sends and receives.
#include "faulty.h"

// Takes the bytes of a scattered message from one piece of memory.
static void send_contiguous(struct call call, const void** at, int* count, MPI_Datatype* type, int dest) {
  if (!(watch & BIT(kContiguous)) || dest == MPI_PROC_NULL || *count == 0 || is_named(*type)) return;
  const struct block block = block_of(*at, *count, *type);
  char *begin, *end;
  span_of(&block, &begin, &end);
  if (block.bytes == 0 || end - begin < block.bytes) return;
  char* right = packed(&block);
  if (memcmp(right, begin, (size_t)block.bytes) != 0 && due(kContiguous)) {
    *at = begin;
    *count = block.bytes;
    *type = MPI_BYTE;
    applied(kContiguous, call, "%d bytes to %d from one piece of memory", block.bytes, dest);
  }
  free(right);
}

#define SEND(NAME)                                                                                 \
  int MPI_##NAME(const void* at, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) { \
    PASS_ON(comm, NAME, at, count, type, dest, tag, comm);                                         \
    send_contiguous(call, &at, &count, &type, dest);                                               \
    return leave(real.NAME(at, count, type, dest, tag, comm));                                     \
  }                                                                                                \
  BOTH_NAMES(NAME)
SEND(Send);
SEND(Ssend);
SEND(Bsend);
SEND(Rsend);

#define ISEND(NAME)                                                                                                  \
  int MPI_##NAME(const void* at, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* req) { \
    PASS_ON(comm, NAME, at, count, type, dest, tag, comm, req);                                                      \
    send_contiguous(call, &at, &count, &type, dest);                                                                 \
    return leave(real.NAME(at, count, type, dest, tag, comm, req));                                                  \
  }                                                                                                                  \
  BOTH_NAMES(NAME)
ISEND(Isend);
ISEND(Issend);
ISEND(Ibsend);
ISEND(Irsend);

#define SEND_INIT(NAME)                                                                                              \
  int MPI_##NAME(const void* at, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* req) { \
    PASS_ON(comm, NAME, at, count, type, dest, tag, comm, req);                                                      \
    struct stale* stale = dest == MPI_PROC_NULL ? NULL : stale_new(call, &at, count, type);                          \
    const int code = real.NAME(at, count, type, dest, tag, comm, req);                                               \
    if (stale) request_add(*req, NULL, stale, true);                                                                 \
    return leave(code);                                                                                              \
  }                                                                                                                  \
  BOTH_NAMES(NAME)
SEND_INIT(Send_init);
SEND_INIT(Ssend_init);
SEND_INIT(Bsend_init);
SEND_INIT(Rsend_init);

// The end of a blocking receive, which always has a status here.
static int received(int code, struct operation* op, MPI_Status* status, const MPI_Status* asked) {
  if (code == MPI_SUCCESS) operation_after(op, status, asked != MPI_STATUS_IGNORE, "at once");
  operation_free(op);
  return leave(code);
}
#define STATUS           \
  MPI_Status own_status; \
  MPI_Status* const result = status == MPI_STATUS_IGNORE ? &own_status : status

int MPI_Recv(void* at, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  PASS_ON(comm, Recv, at, count, type, source, tag, comm, status);
  STATUS;
  struct operation* op = operation_message(call, at, count, type, source, comm, true);
  operation_before(op);
  return received(real.Recv(at, count, type, source, tag, comm, result), op, result, status);
}
BOTH_NAMES(Recv);

// Whom a matched message is from is not known here: its status is taken to be one of a receive from a known source.
int MPI_Mrecv(void* at, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  PASS(Mrecv, at, count, type, message, status);
  STATUS;
  const int source = *message == MPI_MESSAGE_NO_PROC ? MPI_PROC_NULL : 0;
  struct operation* op = operation_message(call, at, count, type, source, MPI_COMM_WORLD, true);
  operation_before(op);
  return received(real.Mrecv(at, count, type, message, result), op, result, status);
}
BOTH_NAMES(Mrecv);

int MPI_Sendrecv(const void* from, int send_count, MPI_Datatype send_type, int dest, int send_tag, void* at, int count,
                 MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  PASS(Sendrecv, from, send_count, send_type, dest, send_tag, at, count, type, source, tag, comm, status);
  STATUS;
  send_contiguous(call, &from, &send_count, &send_type, dest);
  struct operation* op = operation_message(call, at, count, type, source, comm, true);
  operation_before(op);
  const int code =
      real.Sendrecv(from, send_count, send_type, dest, send_tag, at, count, type, source, tag, comm, result);
  return received(code, op, result, status);
}
BOTH_NAMES(Sendrecv);

int MPI_Sendrecv_replace(void* at, int count, MPI_Datatype type, int dest, int send_tag, int source, int tag,
                         MPI_Comm comm, MPI_Status* status) {
  PASS(Sendrecv_replace, at, count, type, dest, send_tag, source, tag, comm, status);
  STATUS;
  struct operation* op = operation_message(call, at, count, type, source, comm, true);
  operation_before(op);
  const int code = real.Sendrecv_replace(at, count, type, dest, send_tag, source, tag, comm, result);
  return received(code, op, result, status);
}
BOTH_NAMES(Sendrecv_replace);

// The beginning of a receive that is completed later.
static void expects(int code, struct operation* op, MPI_Request request, bool persistent) {
  if (op && code == MPI_SUCCESS) request_add(request, op, NULL, persistent);
  else operation_free(op);
}

int MPI_Irecv(void* at, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
  PASS(Irecv, at, count, type, source, tag, comm, request);
  struct operation* op = operation_message(call, at, count, type, source, comm, false);
  operation_before(op);
  const int code = real.Irecv(at, count, type, source, tag, comm, request);
  expects(code, op, *request, false);
  return leave(code);
}
BOTH_NAMES(Irecv);

int MPI_Imrecv(void* at, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* request) {
  PASS(Imrecv, at, count, type, message, request);
  const int source = *message == MPI_MESSAGE_NO_PROC ? MPI_PROC_NULL : 0;
  struct operation* op = operation_message(call, at, count, type, source, MPI_COMM_WORLD, false);
  operation_before(op);
  const int code = real.Imrecv(at, count, type, message, request);
  expects(code, op, *request, false);
  return leave(code);
}
BOTH_NAMES(Imrecv);

int MPI_Recv_init(void* at, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
  PASS(Recv_init, at, count, type, source, tag, comm, request);
  struct operation* op = operation_message(call, at, count, type, source, comm, false);
  const int code = real.Recv_init(at, count, type, source, tag, comm, request);
  expects(code, op, *request, true);
  return leave(code);
}
BOTH_NAMES(Recv_init);

#if MPI_VERSION >= 4
// MPICH 4.0 does not say in the status what came.
int MPI_Isendrecv(const void* from, int send_count, MPI_Datatype send_type, int dest, int send_tag, void* at, int count,
                  MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
  PASS(Isendrecv, from, send_count, send_type, dest, send_tag, at, count, type, source, tag, comm, request);
  send_contiguous(call, &from, &send_count, &send_type, dest);
  struct operation* op = operation_message(call, at, count, type, source, comm, false);
  if (op && !(op->suits &= BIT(kEarly))) {
    operation_free(op);
    op = NULL;
  }
  operation_before(op);
  const int code =
      real.Isendrecv(from, send_count, send_type, dest, send_tag, at, count, type, source, tag, comm, request);
  expects(code, op, *request, false);
  return leave(code);
}
BOTH_NAMES(Isendrecv);
#endif

// These receive nothing, but they are the next call of a rank that has data to come.
int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  PASS_ON(comm, Probe, source, tag, comm, status);
  (void)call;
  return leave(real.Probe(source, tag, comm, status));
}
BOTH_NAMES(Probe);
int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  PASS(Iprobe, source, tag, comm, flag, status);
  (void)call;
  return leave(real.Iprobe(source, tag, comm, flag, status));
}
BOTH_NAMES(Iprobe);
