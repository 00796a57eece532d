// shmem_int_atomic_compare_swap writes behind the variable for its result. Run with 2 PEs. (atomic/ucx)
// OpenSHMEM 1.4, 9.7.2: int is one of the types for which it is defined.
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void ends(int signal) {
  (void)signal;
  static const char text[] = "WRONG: it spoils the stack\n";
  if (write(1, text, sizeof text - 1) < 0) _exit(2);
  _exit(1);
}

int main(void) {
  static int word;
  shmem_init();
  signal(SIGABRT, ends);
  const int before = shmem_my_pe() == 0 ? shmem_int_atomic_compare_swap(&word, 0, 5, 1) : 0;
  shmem_barrier_all();
  const int bad = before != 0 || (shmem_my_pe() == 1 && word != 5);
  if (shmem_my_pe() == 1) printf(bad ? "WRONG: is %d, should be 5\n" : "ok\n", word);
  shmem_finalize();
  return bad;
}
