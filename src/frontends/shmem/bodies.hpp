// What the functions of OpenSHMEM do under Reprise (OpenSHMEM 1.4). The generated wrappers (tools/generate_shmem.py) describe
// each call and give what calls the library; `real` is that.
//
// Recording with data: what a call brings is logged, as in frontends/mpi/border; what it writes elsewhere is told to who wants to
// know. Solo replay: the library is not asked at all.
#pragma once

#include <cstddef>

#include "base/function_ref.hpp"
#include "frontends/shmem/entry.hpp"

namespace reprise::shmem::bodies {

using Real = FunctionRef<void()>;

// Elements of another PE's symmetric memory, every `stride`-th of them.
struct Far {
  const void* context = nullptr;  // null: the default one
  const void* address = nullptr;
  int pe = 0;
  std::size_t element = 1;
  std::size_t count = 1;
  std::ptrdiff_t stride = 1;
  std::size_t bytes() const { return element * count; }
};
// As many of this one's. None: the operation needs no operand.
struct Near {
  const void* address = nullptr;
  std::ptrdiff_t stride = 1;
};

// What code of the program without hooks has stored (--fidelity access) becomes visible to others.
void publish_all();
// Where the library finds it.
template <class Value>
Value* real_address(Value* program) {
  return static_cast<Value*>(mpi::real_address(const_cast<const void*>(static_cast<const volatile void*>(program))));
}

// -- accesses: accesses.cpp --

void put(Entry& entry, const Far& far, const Near& near, Real real);
void get(Entry& entry, const Far& far, const Near& near, Real real);
// What it gets is there when the context is quiet.
void get_later(Entry& entry, const Far& far, const Near& near, Real real);
// An atomic operation that also tells what was there before.
void exchange(Entry& entry, const Far& far, const Near& operand, void* result, Real real);
// All accesses of the context are complete.
void complete(Entry& entry, const void* context, Real real);
void order(Entry& entry, Real real);
int create_context(Entry& entry, void** context, FunctionRef<int()> real);
void destroy_context(Entry& entry, const void* context, Real real);

// -- with other PEs: together.cpp --

struct ActiveSet {
  int first = 0;
  int stride_log = 0;
  int size = 0;  // 0: everybody
};
inline constexpr ActiveSet kEverybody{};
// Is this PE the one with this index there?
bool is_root(const ActiveSet& set, int index);

// What a collective writes to this PE's memory.
struct Result {
  void* address = nullptr;
  std::size_t count = 0;
  std::size_t element = 1;
  std::ptrdiff_t stride = 1;
};
inline constexpr std::size_t kWhatChanges = SIZE_MAX;  // as much as the others have given: nobody tells
void together(Entry& entry, const ActiveSet& set, const Result& result, Real real);
// And all accesses of the default context are complete.
void complete_together(Entry& entry, const ActiveSet& set, Real real);

// Waits for a change of this PE's memory, or for a lock.
void await(Entry& entry, std::size_t bytes, Real real);
int test(Entry& entry, FunctionRef<int()> real);
int test_lock(Entry& entry, FunctionRef<int()> real);

// -- the beginning, the end, and memory: life.cpp --

inline constexpr int kSingle = 0;  // SHMEM_THREAD_SINGLE; the levels are those of MPI
int initialise(Entry& entry, int level, int* provided, FunctionRef<int()> real);
void finalise(Entry& entry, Real real);
void leave_everywhere(Entry& entry, int status, Real real);
int my_pe(FunctionRef<int()> real);
int n_pes(FunctionRef<int()> real);
int question(FunctionRef<int()> real);
void* pointer_to(const void* address, int pe, FunctionRef<void*()> real);
void unsupported(Entry& entry, Real real);

void* allocate(Entry& entry, std::size_t size, FunctionRef<void*()> real);
void* reallocate(Entry& entry, void* before, std::size_t size, FunctionRef<void*()> real);
void release(Entry& entry, void* address, Real real);

}  // namespace reprise::shmem::bodies
