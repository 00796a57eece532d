// A program that knows nothing of MPI loads a plugin that does, by dlopen(RTLD_LOCAL), as Python loads its modules: the
// MPI library is then in no scope that RTLD_NEXT searches. Compiled twice, as the program and (-DPLUGIN) as the plugin.
// usage: dlopen_local OUT_DIR PLUGIN
#ifdef PLUGIN
#include "common.h"

enum { kEach = 10 };

int run(int argc, char** argv) {
  start(&argc, &argv);
  if (world_rank == 0) {
    for (int i = 0; i < kEach * (world_size - 1); ++i) {
      int value;
      MPI_Status status;
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
      took("any", status.MPI_SOURCE, status.MPI_TAG, value);
    }
  } else {
    send_stream(kEach, 0, 300);
  }
  finish();
  return 0;
}
#else
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* plugin = argc > 2 ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : NULL;
  int (*run)(int, char**) = plugin ? (int (*)(int, char**))dlsym(plugin, "run") : NULL;
  if (!run) fprintf(stderr, "no plugin: %s\n", dlerror());
  return run ? run(argc, argv) : 99;
}
#endif
