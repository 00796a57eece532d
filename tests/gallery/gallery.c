#include "gallery.h"

#include <stdio.h>
#include <string.h>

int rank, size;
static const struct gallery_case* cases;

void gallery_add(struct gallery_case* one) {
  one->next = cases;
  cases = one;
}

/* gallery --list | gallery NAME wrong|right */
int main(int argc, char** argv) {
  const struct gallery_case* one;
  if (argc == 2 && strcmp(argv[1], "--list") == 0) {
    for (one = cases; one; one = one->next) printf("%s\t%d\t%s\n", one->name, one->ranks, one->category);
    return 0;
  }
  if (argc != 3) return 64;
  for (one = cases; one && strcmp(one->name, argv[1]) != 0; one = one->next) {}
  if (!one) return 65;
  const int wrong = strcmp(argv[2], "wrong") == 0;
  if (strncmp(one->name, "early_", 6) == 0) one->run(wrong);
  if (strncmp(one->name, "threads_", 8) == 0) {
    one->run(wrong);
    return 0;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strncmp(one->name, "early_", 6) != 0 && strncmp(one->name, "late_", 5) != 0) one->run(wrong);
  if (strcmp(one->name, "no_finalize") == 0 && wrong) return 0;
  MPI_Finalize();
  if (strncmp(one->name, "late_", 5) == 0) one->run(wrong);
  return 0;
}
