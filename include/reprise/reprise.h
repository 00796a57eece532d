/* Reprise's API for programs. Needs no library: without Reprise everything here does nothing.
 *
 *   reprise_event("solver converged");
 *
 * names a moment of a rank. `reprise show` has it among the rank's calls, with its source line, and a replay in which
 * it comes elsewhere, or under another name, has diverged. Costs some 35 nanoseconds while it is recorded, and
 * about one when it is not. The name is copied: up to 255 bytes, and 65536 different names per rank.
 *
 * Harmless everywhere, but recorded only between MPI_Init and MPI_Finalize, in the thread that called MPI_Init, and not
 * in functions that MPI calls back.
 *
 *   reprise_explore_begin();  ...  reprise_explore_end();
 *
 * enclose what `reprise explore` is to try in every order; outside of such regions it picks one order by chance. Regions may lie
 * one inside the other. A program that has none is explored everywhere. (Fortran: reprise_explore_begin_f and _end_f.)
 *
 * Fortran: compile one C file that has nothing but
 *
 *   #define REPRISE_FORTRAN
 *   #include <reprise/reprise.h>
 *
 * with the program, and declare
 *
 *   interface
 *     subroutine reprise_event(name) bind(C, name="reprise_event_f")
 *       use, intrinsic :: iso_c_binding, only: c_char
 *       character(kind=c_char), intent(in) :: name(*)
 *     end subroutine
 *   end interface
 *
 *   call reprise_event("solver converged" // c_null_char)
 *
 * Python: ctypes.CDLL(None).reprise_event(b"solver converged"), where it exists.
 */
#ifndef REPRISE_REPRISE_H
#define REPRISE_REPRISE_H

#ifdef __cplusplus
extern "C" {
#endif

/* The preload library is found with dlsym: a weak reference would be settled when an executable without
 * position-independent code is linked. The reference to dlsym itself is weak, for static programs and old C libraries.
 */
__attribute__((weakref("dlsym"))) static void* reprise_dlsym_(void*, const char*);

/* `function` is the address of a pointer to a function; it stays as it is if there is none of this name. */
__attribute__((unused)) static inline void reprise_find_(const char* name, void* function) {
  void* found = reprise_dlsym_ ? reprise_dlsym_((void*)0 /* RTLD_DEFAULT */, name) : (void*)0;
  if (found) __builtin_memcpy(function, &found, sizeof found);
}

typedef void (*reprise_event_fn_)(const char*);

__attribute__((unused)) static void reprise_no_event_(const char* name) { (void)name; }

__attribute__((unused)) static inline reprise_event_fn_ reprise_event_function_(void) {
  static reprise_event_fn_ known;
  reprise_event_fn_ found = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (found) return found;
  found = reprise_no_event_;
  reprise_find_("reprise_event", &found);
  __atomic_store_n(&known, found, __ATOMIC_RELAXED);
  return found;
}

/* A macro, so that the call belongs to the program's own line; and never the last thing that a function does, or it
 * would seem to come from that function's caller. */
#define reprise_event(name)          \
  do {                               \
    reprise_event_function_()(name); \
    __asm__ __volatile__("");        \
  } while (0)

typedef void (*reprise_region_fn_)(int);

__attribute__((unused)) static void reprise_no_region_(int step) { (void)step; }

__attribute__((unused)) static inline void reprise_region_(int step) {
  static reprise_region_fn_ known;
  reprise_region_fn_ found = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (!found) {
    found = reprise_no_region_;
    reprise_find_("reprise_explore_region", &found);
    __atomic_store_n(&known, found, __ATOMIC_RELAXED);
  }
  found(step);
}

__attribute__((unused)) static inline void reprise_explore_begin(void) { reprise_region_(1); }
__attribute__((unused)) static inline void reprise_explore_end(void) { reprise_region_(-1); }

#ifdef REPRISE_FORTRAN
void reprise_explore_begin_f(void);
void reprise_explore_begin_f(void) { reprise_region_(1); }
void reprise_explore_end_f(void);
void reprise_explore_end_f(void) { reprise_region_(-1); }
void reprise_event_f(const char* name);
void reprise_event_f(const char* name) {
  void (*at)(const char*, const void*) = (void (*)(const char*, const void*))0;
  reprise_find_("reprise_event_at", &at);
  if (at) at(name, __builtin_return_address(0));
}
#endif

#ifdef __cplusplus
}
#endif

#endif
