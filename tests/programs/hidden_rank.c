// A program that hides the launcher's variables until MPI_Init: as under a launcher that sets none.
#include "common.h"

static const char* const kNames[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
enum { kCount = sizeof kNames / sizeof *kNames };
static char* kept[kCount];

// What is read here differs in a replay, so nothing may depend on it.
__attribute__((constructor)) static void hide(void) {
  for (int i = 0; i < kCount; ++i) {
    const char* value = getenv(kNames[i]);
    kept[i] = value ? strdup(value) : NULL;
    unsetenv(kNames[i]);
  }
  time(NULL);
  for (int i = 0; i < 10; ++i) clock();
}

int main(int argc, char** argv) {
  int up = 0;
  MPI_Initialized(&up);
  time(NULL);
  for (int i = 0; i < kCount; ++i)
    if (kept[i]) setenv(kNames[i], kept[i], 1);
  start(&argc, &argv);
  for (int i = 0; i < 5; ++i) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    say("%lld.%09ld", (long long)now.tv_sec, now.tv_nsec);
  }
  finish();
}
