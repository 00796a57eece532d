// Messages of 1 MiB (rendezvous) among small ones, all received by wildcards: the large ones finish late, and a small
// one that was sent later may be seen to complete first.
#include "common.h"

enum { kEach = 6, kLarge = 1 << 20, kSlots = 4 };

static uint32_t checksum(const unsigned char* bytes, int count) {
  uint32_t sum = 1;
  for (int i = 0; i < count; i += 61) sum = sum * 31 + bytes[i];
  return sum;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  unsigned char* buffers = calloc(kSlots, kLarge);
  if (world_rank == 0) {
    const int total = 4 * kEach * (world_size - 1);
    MPI_Request requests[kSlots];
    int posted = 0;
    for (int i = 0; i < kSlots; ++i, ++posted)
      MPI_Irecv(buffers + i * kLarge, kLarge, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
    for (int done = 0; done < total; ++done) {
      MPI_Status status;
      int index, count;
      MPI_Waitany(kSlots, requests, &index, &status);
      MPI_Get_count(&status, MPI_BYTE, &count);
      say("index %d bytes %d sum %08x", index, count, checksum(buffers + index * kLarge, count));
      took("any", status.MPI_SOURCE, status.MPI_TAG, index);
      if (posted < total) {
        ++posted;
        MPI_Irecv(buffers + index * kLarge, kLarge, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                  &requests[index]);
      }
    }
  } else {
    for (int i = 0; i < 4 * kEach; ++i) {
      const int length = (i + world_rank) % 4 == 0 ? kLarge : 1 + i;
      memset(buffers, world_rank * 40 + i, (size_t)length);
      jitter(300);
      MPI_Send(buffers, length, MPI_BYTE, 0, i, MPI_COMM_WORLD);
    }
  }
  free(buffers);
  finish();
}
