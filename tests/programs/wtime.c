// Clock values to the last bit, on all ranks, between other calls; decisions depend on them.
#include "common.h"

int main(int argc, char** argv) {
  start(&argc, &argv);
  const double from = MPI_Wtime();
  say("start %a tick %a", from, MPI_Wtick());
  for (int i = 0; i < 40; ++i) {
    jitter(150);
    const double now = MPI_Wtime();
    say("now %a since %a", now, now - from);
    if ((long)(now * 1e6) % 2) {
      int value = i, other;
      MPI_Sendrecv(&value, 1, MPI_INT, world_rank, 4, &other, 1, MPI_INT, world_rank, 4, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      say("odd microsecond %d", other);
    }
  }
  int spins = 0;
  while (MPI_Wtime() - from < 0.02) ++spins;
  say("spins %d", spins);
  finish();
}
