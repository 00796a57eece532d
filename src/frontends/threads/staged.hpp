// The synchronisations of an explored rank, whose threads run one at a time (engine/baton.hpp). These functions stand
// in place of the C library, below the logs, as frontends/mpi/live stands in place of the MPI library: nobody ever
// sleeps in a lock; whoever must wait passes the baton on.
//
// Locks and semaphores remain what they are, and are taken by trying. Conditions are kept here: who waits is known to
// the C library no more.
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <time.h>

namespace reprise::threads {

// The program is about to make its first thread. False: this process is not explored.
bool begin_staging();
// Threads of the program that were there before it became a rank.
int early_threads();

namespace staged {

// A thread that is none of the program's (of the MPI library, our own) has nothing to do with the baton.
bool is_on_stage();

// Whoever fails to get something lets the others try: it would try again at once.
int try_lock(pthread_mutex_t* mutex);
int spin_try_lock(pthread_spinlock_t* lock);
int try_read_lock(pthread_rwlock_t* lock);
int try_write_lock(pthread_rwlock_t* lock);
int sem_try_wait(sem_t* semaphore);
int try_join(pthread_t thread, void** value);

int lock(pthread_mutex_t* mutex);
int timed_lock(pthread_mutex_t* mutex, const timespec* time);
int clock_lock(pthread_mutex_t* mutex, clockid_t clock, const timespec* time);
int spin_lock(pthread_spinlock_t* lock);

int wait(pthread_cond_t* condition, pthread_mutex_t* mutex);
int timed_wait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* time);
int clock_wait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* time);
int signal(pthread_cond_t* condition);
int broadcast(pthread_cond_t* condition);

int read_lock(pthread_rwlock_t* lock);
int timed_read_lock(pthread_rwlock_t* lock, const timespec* time);
int clock_read_lock(pthread_rwlock_t* lock, clockid_t clock, const timespec* time);
int write_lock(pthread_rwlock_t* lock);
int timed_write_lock(pthread_rwlock_t* lock, const timespec* time);
int clock_write_lock(pthread_rwlock_t* lock, clockid_t clock, const timespec* time);

int sem_wait(sem_t* semaphore);
int sem_timed_wait(sem_t* semaphore, const timespec* time);
int sem_clock_wait(sem_t* semaphore, clockid_t clock, const timespec* time);

int join(pthread_t thread, void** value);
int timed_join(pthread_t thread, void** value, const timespec* time);
int clock_join(pthread_t thread, void** value, clockid_t clock, const timespec* time);

int barrier_wait(pthread_barrier_t* barrier);

void critical_start();
void critical_end();
void named_critical_start(void** name);
void named_critical_end(void** name);
void atomic_start();
void atomic_end();

}  // namespace staged

// Each front end puts these in place of what it forwards to.
void stage_mutexes();
void stage_conditions();
void stage_rwlocks();
void stage_semaphores();
void stage_barriers();
void stage_life();
void stage_openmp();

}  // namespace reprise::threads
