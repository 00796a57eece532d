// OpenMP inside the ranks: one line of output for each construct, which says who came when, or who got what.
#include <omp.h>

#include "common.h"

enum { kThreads = 3, kRounds = 24 };

static uint64_t order;  // of what happens one at a time
static int who[kRounds];

static void came(uint64_t number) { order = (order ^ (number + 1)) * 1099511628211u; }

static void tell(const char* what) {
  for (int i = 0; i < kRounds; ++i) came((uint64_t)who[i]);
  say("%s %016llx", what, (unsigned long long)order);
  fold(order);
  memset(who, 0, sizeof who);
  order = 0;
}

static int me(void) { return omp_get_thread_num(); }

static void critical(void) {
  uint64_t named[2] = {0, 0};
#pragma omp parallel
  for (int i = 0; i < kRounds; ++i) {
    jitter(20);
#pragma omp critical
    came((uint64_t)me());
#pragma omp critical(first)
    named[0] = named[0] * 7 + (uint64_t)me();
#pragma omp critical(second)
    named[1] = named[1] * 7 + (uint64_t)me();
  }
  tell("critical");
  came(named[0]);
  tell("first");
  came(named[1]);
  tell("second");
}

static void locks(void) {
  omp_lock_t lock;
  omp_nest_lock_t nest;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest);
  uint64_t nested = 0, tested = 0, failed = 0;
#pragma omp parallel reduction(+ : failed)
  for (int i = 0; i < kRounds; ++i) {
    jitter(20);
    omp_set_lock(&lock);
    came((uint64_t)me());
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nest);
    nested = nested * 7 + (uint64_t)me() + (uint64_t)omp_test_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
    while (!omp_test_lock(&lock)) failed += (uint64_t)i;
    tested = tested * 7 + (uint64_t)me();
    jitter(5);
    omp_unset_lock(&lock);
  }
  tell("lock");
  came(nested);
  tell("nest lock");
  came(tested);
  tell("test lock");
  came(failed);
  tell("failed tests");
}

// Too large for the processor's own atomic operations, so that they are the library's.
struct list {
  uint64_t digest, length;
  char more[48];
};
static struct list joined(struct list one, struct list other) {
  one.digest = one.digest * 1099511628211u + other.digest;
  one.length += other.length;
  return one;
}
#pragma omp declare reduction(join:struct list : omp_out = joined(omp_out, omp_in)) initializer(omp_priv = (struct list){0, 0, {0}})

static void atomics(void) {
  long double value = 1;
#pragma omp parallel
  for (int i = 0; i < kRounds; ++i) {
    jitter(20);
#pragma omp atomic
    value = (me() + 2) - value;
  }
  came((uint64_t)(value + 10000));
  tell("atomic");
  struct list all = {0, 0, {0}};
#pragma omp parallel reduction(join : all)
  {
    jitter(50);
    all.digest = (uint64_t)me() + 1;
    all.length = 1;
  }
  came(all.digest);
  tell("reduction");
}

static void singles(void) {
#pragma omp parallel
  for (int i = 0; i < kRounds; ++i) {
    jitter(20);
#pragma omp single nowait
    who[i] = me();
  }
  tell("single");
#pragma omp parallel
  for (int i = 0; i < kRounds; ++i) {
    int chosen = -1;
    jitter(20);
#pragma omp single copyprivate(chosen)
    chosen = me();
    if (me() == 0) who[i] = chosen;
  }
  tell("copyprivate");
}

static void sections(void) {
#pragma omp parallel
  {
    jitter(50);
#pragma omp sections
    {
#pragma omp section
      who[0] = me(), jitter(30);
#pragma omp section
      who[1] = me(), jitter(30);
#pragma omp section
      who[2] = me(), jitter(30);
#pragma omp section
      who[3] = me(), jitter(30);
#pragma omp section
      who[4] = me(), jitter(30);
    }
  }
  tell("sections");
#pragma omp parallel sections
  {
#pragma omp section
    who[0] = me(), jitter(60);
#pragma omp section
    who[1] = me(), jitter(60);
#pragma omp section
    who[2] = me(), jitter(60);
#pragma omp section
    who[3] = me(), jitter(60);
  }
  tell("parallel sections");
}

static void loops(void) {
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < kRounds; ++i) jitter(20), who[i] = me();
  tell("dynamic");
#pragma omp parallel
  {
    jitter(20);
#pragma omp for schedule(monotonic : dynamic, 2)
    for (int i = 0; i < kRounds; ++i) jitter(20), who[i] = me();
  }
  tell("monotonic dynamic");
#pragma omp parallel for schedule(guided)
  for (int i = 0; i < kRounds; ++i) jitter(20), who[i] = me();
  tell("guided");
  omp_set_schedule(omp_sched_dynamic, 1);
#pragma omp parallel for schedule(runtime)
  for (int i = 0; i < kRounds; ++i) jitter(20), who[i] = me();
  tell("runtime");
#pragma omp parallel for schedule(dynamic)
  for (unsigned long long i = 0; i < kRounds; ++i) jitter(20), who[i] = me();
  tell("unsigned");
#pragma omp parallel for schedule(dynamic) ordered
  for (int i = 0; i < kRounds; ++i) {
    jitter(20), who[i] = me();
#pragma omp ordered
    came((uint64_t)me());
  }
  tell("ordered");
#pragma omp parallel for schedule(dynamic) ordered(1)
  for (int i = 0; i < kRounds; ++i) {
    jitter(20), who[i] = me();
#pragma omp ordered depend(sink : i - 1)
    came((uint64_t)me());
#pragma omp ordered depend(source)
  }
  tell("doacross");
#pragma omp parallel for schedule(runtime) ordered(1)
  for (int i = 0; i < kRounds; ++i) {
    jitter(20), who[i] = me();
#pragma omp ordered depend(sink : i - 1)
    came((uint64_t)me());
#pragma omp ordered depend(source)
  }
  tell("doacross runtime");
}

// Static schedules are the same in every run: no line. Teams of other sizes, and one inside another.
static void teams(void) {
  for (int size = 1; size <= 4; ++size) {
#pragma omp parallel num_threads(size)
    {
      jitter(20);
#pragma omp critical
      came((uint64_t)me());
    }
  }
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
  {
    const int outer = me();
    jitter(20);
#pragma omp parallel num_threads(2)
    for (int i = 0; i < kRounds; ++i) {
      jitter(10);
#pragma omp critical
      came((uint64_t)(outer * 10 + me()));
    }
  }
  tell("teams");
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  open_output(argc, argv);
  omp_set_dynamic(0);
  omp_set_num_threads(kThreads);
  critical();
  locks();
  atomics();
  singles();
  sections();
  loops();
  teams();
  finish();
}
