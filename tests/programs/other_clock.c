// Reads a clock once more if a file says so: other_clock DIR FILE
#include "common.h"

__attribute__((noinline)) static void early_read(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
}

__attribute__((noinline)) static void late_read(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
}

int main(int argc, char** argv) {
  char word[16] = "";
  FILE* choice = fopen(argv[2], "r");
  if (!choice || fscanf(choice, "%15s", word) != 1) die(argv[2]);
  fclose(choice);
  time(NULL);
  if (strcmp(word, "early") == 0) early_read();
  start(&argc, &argv);
  time(NULL);
  if (strcmp(word, "late") == 0) late_read();
  say("%lld", (long long)time(NULL));
  finish();
}
