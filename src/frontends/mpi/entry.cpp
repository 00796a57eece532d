#include "frontends/mpi/entry.hpp"

#include <string>
#include <string_view>

#include "engine/session.hpp"
#include "frontends/function_table.hpp"
#include "frontends/mpi/communicators.hpp"
#include "frontends/mpi/live/live.hpp"

namespace reprise::mpi {

using engine::Session;

std::int64_t ask_communicator_number(MPI_Comm comm) { return communicators().number(comm); }

void Entry::new_communicator(MPI_Comm comm, MPI_Comm parent) { communicators().made(comm, parent, name(), false); }

void Entry::new_communicator_later(const MPI_Comm* comm, MPI_Comm parent) {
  communicators().made(*comm, parent, name(), true);
}

bool Entry::look_up_cancelled() {
  Session& session = Session::get();
  bool cancelled = false;
  if (session.replaying_now()) {
    Session::Lock lock(session);
    session.insist(session.main_replayer().cancelled(g_posts.next(), cancelled));
  }
  return cancelled;
}

void Entry::posted(int rc, const MPI_Request* request, Posts::Kind kind) {
  Session::Lock lock(Session::get());
  if (rc == MPI_SUCCESS) g_posts.made(*request, kind);
  else g_posts.failed();
}

namespace {

// What may be called at any time (MPI 4.0, 11.4.1), or does no harm.
bool is_legal_outside(Function function) {
  const std::string_view name = kFunctionNames[static_cast<std::size_t>(function)];
  for (const std::string_view begin :
       {"MPI_Init", "MPI_Info_", "MPI_Error_", "MPI_Add_error_", "MPI_Session_", "MPI_Errhandler_", "MPI_Wtime"})
    if (name.starts_with(begin)) return true;
  return name.ends_with("_create_errhandler");
}

}  // namespace

void Entry::wake(Function function, const void* caller) {
  if (engine::mode() == Mode::Over) {
    if (!is_legal_outside(function)) live::called_late(function, caller);
    return;
  }
  if (library_is_ours()) Session::get().wake(frontends::all_functions());
  else
    Session::get().decline(std::string("the program uses another MPI than ") + library_name() + "; choose with --mpi");
  if (engine::mode() == Mode::Explore && !g_mpi_is_up && !is_legal_outside(function))
    live::called_early(function, caller);
}

void let_others_post() { Session::get().posted(); }

void unsupported(Function function, const char* reason) {
  static bool noted[static_cast<std::size_t>(Function::kCount)];
  const auto number = static_cast<std::size_t>(function);
  if (!Entry::recording() || noted[number]) return;
  noted[number] = true;
  Session& session = Session::get();
  Session::Lock lock(session);
  session.note("unsupported", std::string(kFunctionNames[number]) + ": " + reason);
}

// Programs alternate between a few types, and asking the library takes longer than everything else we do for a call.
std::int64_t ask_type_size(MPI_Datatype type) {
  static thread_local KnownHandle known[64] __attribute__((tls_model("initial-exec")));
  const std::uint64_t key = handle_key(type);
  const std::uint32_t generation = g_handle_generation.load(std::memory_order_relaxed);
  KnownHandle& slot = known[key * 0x9e3779b97f4a7c15ull >> 58];
  if (slot.key == key && slot.generation == generation) return slot.value;
  // A handle that MPI would refuse must be refused in the call that got it, not in ours.
  if (!g_mpi_is_up || type == handles().datatype_null) return 0;
  MPI_Count size = 0;
  resolve_function<int (*)(MPI_Datatype, MPI_Count*)>(Function::Type_size_x)(type, &size);
  slot = {key, static_cast<std::int64_t>(size), generation};
  return slot.value;
}

}  // namespace reprise::mpi
