// Neighbourhood collectives.
#include "faulty.h"

// Whom the blocks are from. NULL if neighbours that appear twice have no order that a fault could break: in a grid they
// are the directions.
static int* sources_of(MPI_Comm comm, int* number) {
  int topology, out, weighted;
  *number = 0;
  real.Topo_test(comm, &topology);
  if (topology == MPI_GRAPH) {
    real.Graph_neighbors_count(comm, rank_of(comm), number);
    int* sources = malloc((size_t)(*number + 1) * sizeof *sources);
    real.Graph_neighbors(comm, rank_of(comm), *number, sources);
    return sources;
  }
  if (topology == MPI_DIST_GRAPH) {
    real.Dist_graph_neighbors_count(comm, number, &out, &weighted);
    int* sources = malloc((size_t)(*number + 1) * sizeof *sources);
    int* weights = malloc((size_t)(*number + out + 1) * sizeof *weights);
    int* destinations = malloc((size_t)(out + 1) * sizeof *destinations);
    real.Dist_graph_neighbors(comm, *number, sources, weights, out, destinations, weights + *number);
    free(weights), free(destinations);
    return sources;
  }
  return NULL;
}

static struct operation* neighbours(struct call call, MPI_Comm comm, void* at, const int* counts, int count,
                                    const int* displacements, const MPI_Aint* addresses, const MPI_Datatype* types,
                                    MPI_Datatype type) {
  if (!(watch & BIT(kSwappedNeighbours))) return NULL;
  int number;
  int* sources = sources_of(comm, &number);
  struct operation* op = sources ? operation_new(call, BIT(kSwappedNeighbours), comm, number) : NULL;
  for (int i = 0; op && i < number; ++i) {
    const MPI_Datatype one = types ? types[i] : type;
    const MPI_Aint offset = addresses ? addresses[i] : (displacements ? displacements[i] : i * count) * extent_of(one);
    operation_block(op, i, (char*)at + offset, counts ? counts[i] : count, one, sources[i]);
  }
  free(sources);
  operation_before(op);
  return op;
}

static int finished(int code, struct operation* op) {
  if (code == MPI_SUCCESS) operation_after(op, NULL, false, "at once");
  operation_free(op);
  return leave(code);
}
static int begun(int code, struct operation* op, const MPI_Request* request) {
  if (op && code == MPI_SUCCESS) request_add(*request, op, NULL, false);
  else operation_free(op);
  return leave(code);
}

#define UNPACK(...) __VA_ARGS__
#define FORMS(NAME, PARAMETERS, ARGUMENTS, OPERATION)                    \
  int MPI_N##NAME(UNPACK PARAMETERS) {                                   \
    PASS(N##NAME, UNPACK ARGUMENTS);                                     \
    struct operation* op = OPERATION;                                    \
    return finished(real.N##NAME(UNPACK ARGUMENTS), op);                 \
  }                                                                      \
  BOTH_NAMES(N##NAME);                                                   \
  int MPI_In##NAME(UNPACK PARAMETERS, MPI_Request* request) {            \
    PASS(In##NAME, UNPACK ARGUMENTS, request);                           \
    struct operation* op = OPERATION;                                    \
    return begun(real.In##NAME(UNPACK ARGUMENTS, request), op, request); \
  }                                                                      \
  BOTH_NAMES(In##NAME)

FORMS(eighbor_allgather,
      (const void* from, int from_count, MPI_Datatype from_type, void* at, int count, MPI_Datatype type, MPI_Comm comm),
      (from, from_count, from_type, at, count, type, comm),
      neighbours(call, comm, at, NULL, count, NULL, NULL, NULL, type));
FORMS(eighbor_allgatherv,
      (const void* from, int from_count, MPI_Datatype from_type, void* at, const int* counts, const int* displacements,
       MPI_Datatype type, MPI_Comm comm),
      (from, from_count, from_type, at, counts, displacements, type, comm),
      neighbours(call, comm, at, counts, 0, displacements, NULL, NULL, type));
FORMS(eighbor_alltoall,
      (const void* from, int from_count, MPI_Datatype from_type, void* at, int count, MPI_Datatype type, MPI_Comm comm),
      (from, from_count, from_type, at, count, type, comm),
      neighbours(call, comm, at, NULL, count, NULL, NULL, NULL, type));
FORMS(eighbor_alltoallv,
      (const void* from, const int* from_counts, const int* from_displacements, MPI_Datatype from_type, void* at,
       const int* counts, const int* displacements, MPI_Datatype type, MPI_Comm comm),
      (from, from_counts, from_displacements, from_type, at, counts, displacements, type, comm),
      neighbours(call, comm, at, counts, 0, displacements, NULL, NULL, type));
FORMS(eighbor_alltoallw,
      (const void* from, const int* from_counts, const MPI_Aint* from_displacements, const MPI_Datatype* from_types,
       void* at, const int* counts, const MPI_Aint* displacements, const MPI_Datatype* types, MPI_Comm comm),
      (from, from_counts, from_displacements, from_types, at, counts, displacements, types, comm),
      neighbours(call, comm, at, counts, 0, NULL, displacements, types, MPI_BYTE));
