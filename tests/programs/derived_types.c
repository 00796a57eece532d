// Wildcard receives into vectors, structs and resized types, of varying length; counts asked from the status.
#include <stddef.h>

#include "common.h"

enum { kEach = 18, kMost = 4 };

struct item {
  int id;
  char kind;
  double weight;
};

static MPI_Datatype make_item(void) {
  const int lengths[3] = {1, 1, 1};
  const MPI_Aint offsets[3] = {offsetof(struct item, id), offsetof(struct item, kind), offsetof(struct item, weight)};
  const MPI_Datatype types[3] = {MPI_INT, MPI_CHAR, MPI_DOUBLE};
  MPI_Datatype packed, item;
  MPI_Type_create_struct(3, lengths, offsets, types, &packed);
  MPI_Type_create_resized(packed, 0, sizeof(struct item), &item);
  MPI_Type_commit(&item);
  MPI_Type_free(&packed);
  return item;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Datatype item = make_item(), column;
  MPI_Type_vector(kMost, 1, 3, MPI_INT, &column);
  MPI_Type_commit(&column);
  if (world_rank == 0) {
    for (int i = 0; i < kEach * (world_size - 1); ++i) {
      struct item items[kMost];
      MPI_Status status;
      int count, elements;
      memset(items, 0, sizeof items);
      if (i % 2) {
        MPI_Recv(items, kMost, item, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
      } else {
        MPI_Request request;
        MPI_Irecv(items, kMost, item, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
      }
      MPI_Get_count(&status, item, &count);
      MPI_Get_elements(&status, item, &elements);
      say("count %d elements %d kind %c weight %a", count, elements, items[count - 1].kind, items[count - 1].weight);
      took("items", status.MPI_SOURCE, status.MPI_TAG, items[0].id);

      int table[kMost * 3];
      memset(table, 0, sizeof table);
      MPI_Recv(table, 1, column, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      took("column", 0, table[1], table[0] + table[3] + table[6] + table[9]);
    }
  } else {
    for (int i = 0; i < kEach; ++i) {
      struct item items[kMost];
      int row[kMost];
      memset(items, 0, sizeof items);
      for (int k = 0; k < kMost; ++k) {
        items[k].id = world_rank * 1000 + i;
        items[k].kind = (char)('a' + k);
        items[k].weight = world_rank + i / 8.0 + k;
        row[k] = world_rank * 100 + i;
      }
      jitter(200);
      MPI_Send(items, 1 + (i + world_rank) % kMost, item, 0, 1, MPI_COMM_WORLD);
      jitter(200);
      MPI_Send(row, kMost, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
  }
  MPI_Type_free(&column);
  MPI_Type_free(&item);
  finish();
}
