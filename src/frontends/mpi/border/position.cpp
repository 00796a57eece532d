#include "frontends/mpi/border/position.hpp"

namespace reprise::mpi {

int rank_in(MPI_Comm comm) {
  int rank = 0;
  resolve_function<int (*)(MPI_Comm, int*)>(Function::Comm_rank)(comm, &rank);
  return rank;
}

namespace {

bool is_inter(MPI_Comm comm) {
  int flag = 0;
  resolve_function<int (*)(MPI_Comm, int*)>(Function::Comm_test_inter)(comm, &flag);
  return flag != 0;
}

}  // namespace

int blocks_in(MPI_Comm comm) {
  int size = 0;
  resolve_function<int (*)(MPI_Comm, int*)>(is_inter(comm) ? Function::Comm_remote_size : Function::Comm_size)(comm,
                                                                                                               &size);
  return size;
}

int neighbours_in(MPI_Comm comm) {
  int kind = MPI_UNDEFINED;
  int count = 0;
  resolve_function<int (*)(MPI_Comm, int*)>(Function::Topo_test)(comm, &kind);
  if (kind == MPI_CART) {
    resolve_function<int (*)(MPI_Comm, int*)>(Function::Cartdim_get)(comm, &count);
    return 2 * count;
  }
  if (kind == MPI_GRAPH) {
    resolve_function<int (*)(MPI_Comm, int, int*)>(Function::Graph_neighbors_count)(comm, rank_in(comm), &count);
    return count;
  }
  int leaving = 0;
  int weighted = 0;
  if (kind == MPI_DIST_GRAPH)
    resolve_function<int (*)(MPI_Comm, int*, int*, int*)>(Function::Dist_graph_neighbors_count)(comm, &count, &leaving,
                                                                                                &weighted);
  return count;
}

bool is_root(MPI_Comm comm, int root) {
  return root == MPI_ROOT || (root >= 0 && !is_inter(comm) && root == rank_in(comm));
}

bool is_served_by(MPI_Comm comm, int root) { return root >= 0 && (is_inter(comm) || root != rank_in(comm)); }

bool takes_part(MPI_Comm, int root) { return root >= 0; }

}  // namespace reprise::mpi
