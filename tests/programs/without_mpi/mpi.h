// What the programs with threads need of MPI when they are built without any: one rank, which talks to nobody.
#ifndef TESTS_PROGRAMS_WITHOUT_MPI_H
#define TESTS_PROGRAMS_WITHOUT_MPI_H

enum { MPI_COMM_WORLD, MPI_INT, MPI_UINT64_T, MPI_ANY_SOURCE, MPI_THREAD_FUNNELED };
typedef struct {
  int MPI_SOURCE;
} MPI_Status;

static inline int MPI_Init(int* argc, char*** argv) { return (void)argc, (void)argv, 0; }
static inline int MPI_Init_thread(int* argc, char*** argv, int wanted, int* provided) {
  *provided = wanted;
  return MPI_Init(argc, argv);
}
static inline int MPI_Comm_rank(int comm, int* rank) { return *rank = 0, comm; }
static inline int MPI_Comm_size(int comm, int* size) { return *size = 1, comm; }
static inline int MPI_Bcast(void* data, int count, int type, int root, int comm) {
  return (void)data, count + type + root + comm;
}
static inline int MPI_Send(const void* data, int count, int type, int to, int tag, int comm) {
  return (void)data, count + type + to + tag + comm;
}
static inline int MPI_Recv(void* data, int count, int type, int from, int tag, int comm, MPI_Status* status) {
  return (void)data, status->MPI_SOURCE = 0, count + type + from + tag + comm;
}
static inline int MPI_Finalize(void) { return 0; }

#endif
