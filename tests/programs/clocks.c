// Every clock of the C library, before and after MPI_Init; decisions depend on them.
//
// Nothing is printed before MPI_Init says which rank this is, so early values are kept until then.
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>

#include "common.h"

static struct timeval early_day;
static time_t early_time;
static struct timespec early_clock;

// Before main, and before MPI is up.
__attribute__((constructor)) static void very_early(void) { clock_gettime(CLOCK_MONOTONIC, &early_clock); }

static void all_clocks(void) {
  static const clockid_t kClocks[] = {CLOCK_REALTIME,           CLOCK_MONOTONIC,     CLOCK_PROCESS_CPUTIME_ID,
                                      CLOCK_THREAD_CPUTIME_ID,  CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE,
                                      CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME};
  for (size_t i = 0; i < sizeof kClocks / sizeof *kClocks; ++i) {
    struct timespec now;
    if (clock_gettime(kClocks[i], &now)) die("clock_gettime");
    say("clock %d: %lld.%09ld", (int)kClocks[i], (long long)now.tv_sec, now.tv_nsec);
  }
  struct timespec nothing;
  if (clock_gettime(12345, &nothing) == 0) die("clock 12345");
  say("no clock: %m");
  struct timeval day;
  gettimeofday(&day, NULL);
  time_t both;
  const time_t seconds = time(&both);
  struct timespec spec;
  timespec_get(&spec, TIME_UTC);
  say("day %lld.%06ld time %lld %lld spec %lld.%09ld", (long long)day.tv_sec, (long)day.tv_usec, (long long)seconds,
      (long long)both, (long long)spec.tv_sec, spec.tv_nsec);
  struct tms used;
  const clock_t ticks = times(&used);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  say("clock %ld times %ld %ld %ld usage %ld.%06ld %ld.%06ld %ld %ld", (long)clock(), (long)ticks, (long)used.tms_utime,
      (long)used.tms_stime, (long)usage.ru_utime.tv_sec, (long)usage.ru_utime.tv_usec, (long)usage.ru_stime.tv_sec,
      (long)usage.ru_stime.tv_usec, usage.ru_maxrss, usage.ru_minflt);
}

int main(int argc, char** argv) {
  early_time = time(NULL);
  gettimeofday(&early_day, NULL);
  srand((unsigned)(early_time ^ early_day.tv_usec));
  const int early_random = rand();
  start(&argc, &argv);
  say("early: %lld.%09ld, %lld, %lld.%06ld, random %d", (long long)early_clock.tv_sec, early_clock.tv_nsec,
      (long long)early_time, (long long)early_day.tv_sec, (long)early_day.tv_usec, early_random);
  for (int i = 0; i < 20; ++i) {
    jitter(100);
    all_clocks();
    // How often this is sent depends on the clock.
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_nsec / 1000 % 2) {
      int value = i, other;
      MPI_Sendrecv(&value, 1, MPI_INT, world_rank, 4, &other, 1, MPI_INT, world_rank, 4, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      say("odd microsecond %d", other);
    }
  }
  struct timespec deadline, now;
  clock_gettime(CLOCK_MONOTONIC, &deadline);
  deadline.tv_nsec += 5000000;
  if (deadline.tv_nsec >= 1000000000) ++deadline.tv_sec, deadline.tv_nsec -= 1000000000;
  long spins = 0;
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
    ++spins;
  } while (now.tv_sec < deadline.tv_sec || (now.tv_sec == deadline.tv_sec && now.tv_nsec < deadline.tv_nsec));
  say("spins until the deadline: %ld", spins);
  // Sleeping until a recorded time must take no longer than it did.
  deadline.tv_nsec += 3000000;
  if (deadline.tv_nsec >= 1000000000) ++deadline.tv_sec, deadline.tv_nsec -= 1000000000;
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL);
  finish();
  const time_t late = time(NULL);
  say("after MPI_Finalize: %lld", (long long)late);
}
