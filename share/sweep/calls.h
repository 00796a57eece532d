// The collectives with their arguments. Included twice, for the functions with int and with MPI_Count arguments.
case kBcast: return CALL(Bcast, bcast, out->address, out->count, out->type, x->root, comm);
case kGather: return CALL(Gather, gather, SIMPLE(out), SIMPLE(in), x->root, comm);
case kGatherv: return CALL(Gatherv, gatherv, SIMPLE(out), PLACED(in), in->type, x->root, comm);
case kScatter: return CALL(Scatter, scatter, SIMPLE(out), SIMPLE(in), x->root, comm);
case kScatterv: return CALL(Scatterv, scatterv, PLACED(out), out->type, SIMPLE(in), x->root, comm);
case kAllgather: return CALL(Allgather, allgather, SIMPLE(out), SIMPLE(in), comm);
case kAllgatherv: return CALL(Allgatherv, allgatherv, SIMPLE(out), PLACED(in), in->type, comm);
case kAlltoall: return CALL(Alltoall, alltoall, SIMPLE(out), SIMPLE(in), comm);
case kAlltoallv: return CALL(Alltoallv, alltoallv, PLACED(out), out->type, PLACED(in), in->type, comm);
case kAlltoallw: return CALL(Alltoallw, alltoallw, PLACED(out), out->types, PLACED(in), in->types, comm);
case kReduce: return CALL(Reduce, reduce, out->address, in->address, in->count, in->type, x->op, x->root, comm);
case kAllreduce: return CALL(Allreduce, allreduce, out->address, in->address, in->count, in->type, x->op, comm);
case kReduceScatter: return CALL(Reduce_scatter, reduce_scatter, out->address, in->address, COUNTS(in), in->type, x->op, comm);
case kReduceScatterBlock:
  return CALL(Reduce_scatter_block, reduce_scatter_block, out->address, in->address, in->count, in->type, x->op, comm);
case kScan: return CALL(Scan, scan, out->address, in->address, in->count, in->type, x->op, comm);
case kExscan: return CALL(Exscan, exscan, out->address, in->address, in->count, in->type, x->op, comm);
case kNeighborAllgather: return CALL(Neighbor_allgather, neighbor_allgather, SIMPLE(out), SIMPLE(in), comm);
case kNeighborAllgatherv: return CALL(Neighbor_allgatherv, neighbor_allgatherv, SIMPLE(out), PLACED(in), in->type, comm);
case kNeighborAlltoall: return CALL(Neighbor_alltoall, neighbor_alltoall, SIMPLE(out), SIMPLE(in), comm);
case kNeighborAlltoallv:
  return CALL(Neighbor_alltoallv, neighbor_alltoallv, PLACED(out), out->type, PLACED(in), in->type, comm);
case kNeighborAlltoallw:
  return CALL(Neighbor_alltoallw, neighbor_alltoallw, out->address, COUNTS(out), out->places_c, out->types, in->address,
              COUNTS(in), in->places_c, in->types, comm);
