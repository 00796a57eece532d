// Persistent collectives, where MPI has them.
#include "faulty.h"

#if MPI_VERSION >= 4
static int begun(int code, struct stale* stale, const MPI_Request* request) {
  if (stale) request_add(*request, NULL, stale, true);
  return leave(code);
}

int MPI_Bcast_init(void* at, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info info,
                   MPI_Request* request) {
  PASS(Bcast_init, at, count, type, root, comm, info, request);
  const void* from = at;
  struct stale* stale = is_root(comm, root) ? stale_new(call, &from, count, type) : NULL;
  return begun(real.Bcast_init((void*)(uintptr_t)from, count, type, root, comm, info, request), stale, request);
}
BOTH_NAMES(Bcast_init);

int MPI_Gather_init(const void* from, int from_count, MPI_Datatype from_type, void* at, int count, MPI_Datatype type,
                    int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  PASS(Gather_init, from, from_count, from_type, at, count, type, root, comm, info, request);
  struct stale* stale = stale_new(call, &from, from_count, from_type);
  return begun(real.Gather_init(from, from_count, from_type, at, count, type, root, comm, info, request), stale,
               request);
}
BOTH_NAMES(Gather_init);

int MPI_Scatter_init(const void* from, int from_count, MPI_Datatype from_type, void* at, int count, MPI_Datatype type,
                     int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  PASS(Scatter_init, from, from_count, from_type, at, count, type, root, comm, info, request);
  struct stale* stale = is_root(comm, root) ? stale_new(call, &from, from_count * size_of(comm), from_type) : NULL;
  return begun(real.Scatter_init(from, from_count, from_type, at, count, type, root, comm, info, request), stale,
               request);
}
BOTH_NAMES(Scatter_init);

int MPI_Allgather_init(const void* from, int from_count, MPI_Datatype from_type, void* at, int count, MPI_Datatype type,
                       MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  PASS(Allgather_init, from, from_count, from_type, at, count, type, comm, info, request);
  struct stale* stale = stale_new(call, &from, from_count, from_type);
  return begun(real.Allgather_init(from, from_count, from_type, at, count, type, comm, info, request), stale, request);
}
BOTH_NAMES(Allgather_init);

int MPI_Alltoall_init(const void* from, int from_count, MPI_Datatype from_type, void* at, int count, MPI_Datatype type,
                      MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  PASS(Alltoall_init, from, from_count, from_type, at, count, type, comm, info, request);
  struct stale* stale = from == MPI_IN_PLACE ? NULL : stale_new(call, &from, from_count * size_of(comm), from_type);
  return begun(real.Alltoall_init(from, from_count, from_type, at, count, type, comm, info, request), stale, request);
}
BOTH_NAMES(Alltoall_init);

// Would any other contribution give another result? With MPI_MAX and the like it may not, and nobody could tell.
static bool shows_everything(MPI_Op op, MPI_Datatype type) {
  const MPI_Datatype integers[] = {MPI_INT, MPI_UNSIGNED, MPI_LONG, MPI_UNSIGNED_LONG, MPI_LONG_LONG, MPI_INT32_T, MPI_UINT32_T, MPI_INT64_T, MPI_UINT64_T};
  bool integer = false;
  for (size_t i = 0; i < sizeof integers / sizeof *integers; ++i) integer = integer || type == integers[i];
  return integer && (op == MPI_SUM || op == MPI_BXOR);
}

int MPI_Reduce_init(const void* from, void* at, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                    MPI_Info info, MPI_Request* request) {
  PASS(Reduce_init, from, at, count, type, op, root, comm, info, request);
  struct stale* stale = shows_everything(op, type) ? stale_new(call, &from, count, type) : NULL;
  return begun(real.Reduce_init(from, at, count, type, op, root, comm, info, request), stale, request);
}
BOTH_NAMES(Reduce_init);

int MPI_Allreduce_init(const void* from, void* at, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                       MPI_Info info, MPI_Request* request) {
  PASS(Allreduce_init, from, at, count, type, op, comm, info, request);
  struct stale* stale = shows_everything(op, type) ? stale_new(call, &from, count, type) : NULL;
  return begun(real.Allreduce_init(from, at, count, type, op, comm, info, request), stale, request);
}
BOTH_NAMES(Allreduce_init);
#else
typedef int nothing_to_define;  // a file must not be empty
#endif
