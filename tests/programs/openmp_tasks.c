// Tasks of OpenMP: which thread runs one cannot be forced.
#include <omp.h>

#include "common.h"

int main(int argc, char** argv) {
  int sum = 0;
  start(&argc, &argv);
#pragma omp parallel num_threads(2)
#pragma omp single
  for (int i = 0; i < 4; ++i) {
#pragma omp task shared(sum)
#pragma omp atomic
    sum += i;
  }
  say("sum %d", sum);
  finish();
}
