// The synchronisations of POSIX, on behalf of whoever called: the threads of C11 are the same objects by other names.
#pragma once

#include <pthread.h>
#include <time.h>

namespace reprise::threads {

// Of conditions: glibc on x86_64 has older functions for another kind of them, and dlsym would find those.
inline constexpr const char* kConditionVersion = "GLIBC_2.3.2";

int lock(pthread_mutex_t* mutex, const void* caller);
int try_lock(pthread_mutex_t* mutex, const void* caller);
int lock_until(pthread_mutex_t* mutex, const timespec* time, const void* caller);
int wait_on(pthread_cond_t* condition, pthread_mutex_t* mutex, const void* caller);
int wait_on_until(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* time, const void* caller);
int wake_one(pthread_cond_t* condition, const void* caller);
int wake_everybody(pthread_cond_t* condition, const void* caller);
int run_once(pthread_once_t* control, void (*routine)(), const void* caller);
int make_thread(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*), void* argument,
                const void* caller);
int join_thread(pthread_t thread, void** value, const void* caller);

}  // namespace reprise::threads
