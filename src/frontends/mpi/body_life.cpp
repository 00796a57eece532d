#include "frontends/mpi/check/recorded.hpp"
#include "frontends/mpi/flow/own_operations.hpp"
#include "frontends/mpi/flow/requests.hpp"
#include "frontends/mpi/body_life.hpp"

#include <algorithm>
#include <fcntl.h>
#include <string>
#include <unistd.h>

#include "engine/process_info.hpp"
#include "frontends/mpi/border/border.hpp"
#include "frontends/mpi/give_way.hpp"
#include "frontends/mpi/idle_request.hpp"
#include "frontends/mpi/live/live.hpp"
#include "frontends/mpi/pending_receives.hpp"
#include "frontends/sys/early_leave.hpp"
#include "frontends/sys/own_crash.hpp"

namespace reprise::mpi::bodies {
namespace {

const char* level_name(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE: return "single";
    case MPI_THREAD_FUNNELED: return "funneled";
    case MPI_THREAD_SERIALIZED: return "serialized";
    default: return "multiple";
  }
}

// MPICH's version is a table.
std::string first_line(std::string text) {
  text.resize(std::min(text.find('\n'), text.size()));
  std::replace(text.begin(), text.end(), '\t', ' ');
  return text;
}

engine::Identity g_identity;

bool is_inside() { return t_inside || t_state.called_back; }

void settle_call_in_flight() {
  if (t_state.settle) t_state.settle(t_state.in_flight);
}

// For `reprise doctor`: this rank was seen, and so many of its calls.
void report_to_doctor() {
  const Session& session = Session::get();
  const std::string path = session.configuration().directory + "/seen-" + std::to_string(g_identity.rank);
  std::string text = "rank=" + std::to_string(g_identity.rank) + "\nranks=" + std::to_string(g_identity.ranks) +
                     "\nmpi=" + g_identity.library + "\nmpi-library=" + g_identity.library_version +
                     "\ncalls=" + std::to_string(session.calls_seen()) + '\n';
  for (const auto& [key, value] : engine::describe_process())
    if (key != "cmdline") text += key + '=' + value + '\n';
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return;
  if (write(fd, text.data(), text.size()) < 0) unlink(path.c_str());  // no report is clearer than half a report
  close(fd);
}

}  // namespace

void become_virtual_rank(Entry& entry, int thread_level) {
  g_mpi_is_up = true;
  if (live::serve(thread_level)) {
    Session::get().records_from_here(live::actor().stage()->directory, live::actor().stage()->trace_id,
                                     static_cast<std::uint32_t>(live::actor().rank()));
    entry.begin(Call{});
  }
  live::enter_world();
}

void mpi_started(int thread_level) {
  g_mpi_is_up = true;
  if (Entry::replaying() && Session::get().solo()) stand_alone();
  int rank = 0;
  int size = 0;
  int length = 0;
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  resolve_function<int (*)(MPI_Comm, int*)>(Function::Comm_rank)(handles().comm_world, &rank);
  resolve_function<int (*)(MPI_Comm, int*)>(Function::Comm_size)(handles().comm_world, &size);
  resolve_function<int (*)(char*, int*)>(Function::Get_library_version)(version, &length);
  g_identity = {static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(size), library_name(), first_line(version),
                level_name(thread_level)};
  Session& session = Session::get();
  using Callers = engine::Identity::Callers;
  if (thread_level == MPI_THREAD_SERIALIZED) g_identity.callers = Callers::OneAtATime;
  if (thread_level == MPI_THREAD_MULTIPLE) g_identity.callers = Callers::Many;
  if (thread_level >= MPI_THREAD_SERIALIZED) session.threads_may_call();
  session.attach(g_identity, {make_progress, settle_call_in_flight, is_inside});
  if (Entry::recording() && session.records_data()) record_at_border();
  else if (Entry::recording() && !session.configuration().data.empty()) tell_at_border();
  if (Entry::recording()) sys::note_own_crash();
  communicators().begin();
  if (Entry::recording() && session.configuration().checks) check::check_recorded_run();
  if (Entry::recording() && session.configuration().flow) flow::follow_everything();
  if (Entry::replaying()) prepare_idle_requests();
  if (Entry::replaying() && session.configuration().explored) sys::leave_early();
  begin_giving_way(size);
}

void mpi_ends() {
  if (Entry::recording() && Session::get().configuration().checks && !g_world_is_the_library)
    check::end_of_recorded_run();
  if (Entry::recording() && Session::get().configuration().flow && !g_world_is_the_library) flow::close_letterbox();
  if (Entry::recording()) {
    Session::Lock lock(Session::get());
    pending_receives().finalize();
  }
  if (Entry::recording() && Session::get().records_data()) leave_border();
  if (Entry::replaying()) end_idle_requests();
  if (engine::mode() == Mode::Doctor) report_to_doctor();
}

void mpi_ended() {
  g_mpi_is_up = false;
  Session::get().finalized();
}

void mpi_aborts(int code) {
  if (engine::mode() == Mode::Passive || !g_mpi_is_up) return;
  if (Entry::recording()) {
    Session::Lock lock(Session::get());
    pending_receives().look_at_unknown();
  }
  Session::get().aborting(code);
}

}  // namespace reprise::mpi::bodies
