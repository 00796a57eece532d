// The beginning and the end of a PE, its symmetric memory, and questions about it.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "engine/session.hpp"
#include "frontends/mpi/body_life.hpp"
#include "frontends/mpi/border/border.hpp"
#include "frontends/mpi/border/mirrors.hpp"
#include "frontends/shmem/bodies.hpp"
#include "frontends/shmem/memory.hpp"
#include "frontends/shmem/pending.hpp"

namespace reprise::shmem::bodies {

using engine::Session;

namespace {

int initialise_alone(int level, int* provided) {
  using InitThread = int (*)(int*, char***, int, int*);
  return mpi::library_function<InitThread>(mpi::Function::Init_thread)(nullptr, nullptr, level, provided);
}

// All PEs, or nobody: somebody's values are recorded.
bool tells() { return Entry::recording() && memory().is_up(); }

void meet_everybody() {
  static const auto barrier = reinterpret_cast<void (*)()>(mpi::look_up("shmem_barrier_all"));
  barrier();
}

// New memory is the same in every run (OPR, section 7), and it is so before anybody writes to it.
void* introduce(void* made, std::size_t size, std::size_t kept) {
  if (made && size > kept && records()) std::memset(static_cast<char*>(made) + kept, 0, size - kept);
  void* const program = memory().add(made, size);
  if (kept > 0) mpi::show_real_bytes(program, kept);
  meet_everybody();
  return program;
}

bool g_is_up = false;

void end_everything(Real real) {
  g_is_up = false;
  mpi::bodies::mpi_ends();
  if (is_solo()) mpi::library_function<int (*)()>(mpi::Function::Finalize)();
  else real();
  memory().end();
}

// A program need not call shmem_finalize. Open MPI then does it at exit; this comes before it, since it was registered later.
void end_at_exit() {
  if (!g_is_up || t_inside) return;
  t_inside = true;
  end_everything([] { reinterpret_cast<void (*)()>(mpi::look_up("shmem_finalize"))(); });
  t_inside = false;
  mpi::bodies::mpi_ended();
}

std::uintptr_t recorded_address() {
  std::int64_t address = 0;
  mpi::answer_number(address);
  return static_cast<std::uintptr_t>(address);
}

void log_address(const void* address) {
  if (records()) mpi::log_number(0, static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address)));
}

}  // namespace

int initialise(Entry& entry, int level, int* provided, FunctionRef<int()> real) {
  entry.begin(mpi::Call());
  Session& session = Session::get();
  const bool first = !session.attached();
  if (first) session.arrives();
  int got = level;
  int rc = 0;
  if (!session.solo()) rc = real();
  else if (first) rc = initialise_alone(level, &got);
  if (provided && session.solo()) *provided = got;
  if (provided) got = *provided;
  if (rc == 0 && first) mpi::bodies::mpi_started(got);
  if (rc == 0) memory().begin();
  if (rc == 0 && !std::exchange(g_is_up, true)) std::atexit(end_at_exit);
  entry.end();
  return rc;
}

// Open MPI ends its MPI with it, whoever has begun that.
void finalise(Entry& entry, Real real) {
  entry.begin(mpi::Call());
  const std::vector<Elements> got = take_pending(nullptr);
  if (is_solo()) bring_again(got);
  end_everything([&] {
    real();
    log_brought(got);
  });
  entry.end();
  mpi::bodies::mpi_ended();
}

void leave_everywhere(Entry& entry, int status, Real real) {
  mpi::Call call;
  call.count(status);
  entry.begin(call);
  mpi::bodies::mpi_aborts(status);
  if (is_solo()) mpi::library_function<int (*)(MPI_Comm, int)>(mpi::Function::Abort)(mpi::handles().comm_world, status);
  real();
}

int my_pe(FunctionRef<int()> real) { return is_solo() ? mpi::trace_provider().rank() : real(); }
int n_pes(FunctionRef<int()> real) { return is_solo() ? mpi::trace_provider().ranks() : real(); }

int question(FunctionRef<int()> real) {
  std::int64_t answer = 0;
  if (is_solo()) {
    mpi::answer_number(answer);
  } else {
    answer = real();
    if (records()) mpi::log_number(0, answer);
  }
  return static_cast<int>(answer);
}

void* pointer_to(const void* address, int pe, FunctionRef<void*()> real) {
  if (is_solo()) return pe == mpi::trace_provider().rank() ? const_cast<void*>(address) : nullptr;
  void* const pointer = real();
  if (pointer && pe == static_cast<int>(Session::get().rank())) return const_cast<void*>(address);
  if (pointer && records())
    mpi::not_solo("shmem_ptr: loads and stores in another PE's memory");
  return pointer;
}

void unsupported(Entry& entry, Real real) {
  entry.begin(mpi::Call());
  if (records()) mpi::not_solo(entry.name());
  if (!is_solo()) real();
  entry.end();
}

void* allocate(Entry& entry, std::size_t size, FunctionRef<void*()> real) {
  mpi::Call call;
  call.count(size);
  entry.begin(call);
  void* made = nullptr;
  if (is_solo()) {
    const std::uintptr_t address = recorded_address();
    if (address != 0) made = memory().place(address, size);
    memory().add(made, size);
  } else {
    made = real();
    if (tells()) made = introduce(made, size, 0);
    log_address(made);
  }
  entry.end();
  return made;
}

void* reallocate(Entry& entry, void* before, std::size_t size, FunctionRef<void*()> real) {
  mpi::Call call;
  call.count(size);
  entry.begin(call);
  void* made = nullptr;
  if (is_solo()) {
    const std::uint64_t kept = std::min<std::uint64_t>(memory().remove(before), size);
    const std::vector<char> content(static_cast<char*>(before), static_cast<char*>(before) + kept);
    const std::uintptr_t address = recorded_address();
    if (address != 0 && size > 0) {
      made = memory().place(address, size);
      std::memcpy(made, content.data(), kept);
    }
    memory().add(made, size);
  } else {
    publish_all();
    made = real();
    if (tells()) {
      const std::uint64_t kept = std::min<std::uint64_t>(memory().remove(before), size);
      made = introduce(made, size, kept);
    }
    log_address(made);
  }
  entry.end();
  return made;
}

void release(Entry& entry, void* address, Real real) {
  entry.begin(mpi::Call());
  if (!is_solo()) {
    publish_all();
    real();
  }
  memory().remove(address);
  entry.end();
}

}  // namespace reprise::shmem::bodies
