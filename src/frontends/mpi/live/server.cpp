// The fork server: one process has been through MPI_Init; every rank of every run is a copy of it.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/session.hpp"
#include "frontends/function_table.hpp"
#include "frontends/mpi/check/arguments.hpp"
#include "frontends/mpi/idle_request.hpp"
#include "frontends/mpi/live/files.hpp"
#include "frontends/mpi/live/live.hpp"
#include "frontends/mpi/live/provider.hpp"
#include "frontends/mpi/live/refusal.hpp"
#include "frontends/mpi/live/windows.hpp"
#include "frontends/sys/early_leave.hpp"
#include "frontends/sys/virtual_time.hpp"
#include "frontends/threads/staged.hpp"

namespace reprise::mpi::live {

using virtual_world::Attribute;
using virtual_world::Seat;
using virtual_world::SeatState;
using virtual_world::ServerState;
using virtual_world::Stage;

LiveProvider& live_provider() {
  static auto* const all = new LiveProvider();
  return *all;
}

Actor& actor() { return live_provider().actor; }

namespace {

std::optional<std::int64_t> of_singleton(int keyval) {
  int flag = 0;
  int* value = nullptr;
  singleton_function<int (*)(MPI_Comm, int, void*, int*)>(Function::Comm_get_attr)(handles().comm_world, keyval, &value,
                                                                                   &flag);
  return flag && value ? std::optional<std::int64_t>(*value) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> LiveProvider::attribute(Attribute which) {
  switch (which) {
    case Attribute::TagUb: return of_singleton(MPI_TAG_UB);
    case Attribute::Host: return of_singleton(MPI_HOST);
    case Attribute::Io: return of_singleton(MPI_IO);
    case Attribute::WtimeIsGlobal: return of_singleton(MPI_WTIME_IS_GLOBAL);
    case Attribute::UniverseSize: return actor.ranks();
    case Attribute::Appnum: return 0;
    default: return std::nullopt;
  }
}

namespace {

// Not through the functions that Reprise itself interposes.
pid_t own_pid() { return static_cast<pid_t>(syscall(SYS_getpid)); }

void set_state(Stage* stage, ServerState state) {
  stage->server.store(static_cast<std::uint32_t>(state), std::memory_order_release);
  futex_wake(stage->server, 1);
}

void open_as(const char* path, int flags, int descriptor) {
  const int fd = open(path, flags | O_CLOEXEC, 0644);
  if (fd < 0) return;
  dup2(fd, descriptor);
  close(fd);
}

// What the ranks write is kept only if somebody wants it.
void silence() {
  open_as("/dev/null", O_RDONLY, STDIN_FILENO);
  open_as("/dev/null", O_WRONLY, STDOUT_FILENO);
  open_as("/dev/null", O_WRONLY, STDERR_FILENO);
}
void keep_output(const Stage* stage, int rank) {
  const std::string path = std::string(stage->output) + "/rank-" + std::to_string(rank);
  open_as((path + ".out").c_str(), O_WRONLY | O_CREAT | O_APPEND, STDOUT_FILENO);
  open_as((path + ".err").c_str(), O_WRONLY | O_CREAT | O_APPEND, STDERR_FILENO);
}

// Programs that ask the launcher's variables who they are get the right answer.
void set_launcher_variables(int rank, int ranks) {
  const std::string number = std::to_string(rank);
  const std::string all = std::to_string(ranks);
  for (const char* name :
       {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMIX_RANK", "PMI_RANK", "MPI_LOCALRANKID"})
    setenv(name, number.c_str(), 1);
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"})
    setenv(name, all.c_str(), 1);
}

void become_rank(Stage* stage, int rank, pid_t server) {
  sys::leave_early();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (syscall(SYS_getppid) != server) _exit(0);
  engine::Session::get().becomes_virtual_rank();
  actor() = Actor(stage, rank);
  sys::becomes_rank(rank);
  prepare_threads();
  if (stage->keeps_output) keep_output(stage, rank);
  check::g_disturbed = stage->disturbed;
  if (stage->files[0] != '\0' && chdir(stage->files) != 0) {
    std::snprintf(stage->refusal, sizeof stage->refusal, "%.200s: %s", stage->files, std::strerror(errno));
    _exit(125);
  }
  set_launcher_variables(rank, static_cast<int>(stage->ranks));
}

// Reaps all ranks of a run. The explorer learns how each ended.
void reap(Stage* stage) {
  for (std::uint32_t left = stage->ranks; left > 0;) {
    int status = 0;
    const auto pid = static_cast<pid_t>(syscall(SYS_wait4, -1, &status, 0, nullptr));
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) break;
    for (std::uint32_t rank = 0; rank < stage->ranks; ++rank) {
      Seat& seat = stage->seats[rank];
      if (seat.pid != pid) continue;
      --left;
      seat.pid = 0;
      seat.wait_status = status;
      const auto before = static_cast<SeatState>(
          seat.state.exchange(static_cast<std::uint32_t>(SeatState::Gone), std::memory_order_acq_rel));
      const bool was_acting = before == SeatState::Acts || before == SeatState::Serves;
      if (was_acting && stage->acting.fetch_sub(1, std::memory_order_acq_rel) == 1)
        futex_wake(stage->acting, 1);
    }
  }
}

}  // namespace

void put_everything();

namespace {

Stage* enter_stage() {
  Stage* const stage = Actor::open(std::getenv("REPRISE_STAGE"));
  if (!stage) engine::Session::get().give_up("the explorer's memory cannot be opened");
  const engine::FunctionTable& all = frontends::all_functions();
  for (std::size_t i = 0; i < all.count && i < virtual_world::kMostFunctions; ++i)
    std::snprintf(stage->functions[i], sizeof stage->functions[i], "%s", all.names[i]);
  stage->server_pid = own_pid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // without an explorer there is nothing to do
  return stage;
}

}  // namespace

// Also of a process that never comes to MPI_Init.
void refuse(const char* call, const char* reason) {
  Stage* stage = actor().stage();
  if (!stage) stage = enter_stage();
  std::snprintf(stage->refusal, sizeof stage->refusal, "%s: %s cannot be explored yet", call, reason);
  _exit(125);
}

void called_early(Function function, const void* caller) {
  Stage* const stage = enter_stage();
  stage->early_function = static_cast<std::uint32_t>(function);
  stage->early_site = reinterpret_cast<std::uint64_t>(caller);
  set_state(stage, ServerState::Early);
  // The explorer still has to find out where this is.
  for (;;) {
    const std::uint32_t now = stage->server.load(std::memory_order_acquire);
    if (now == static_cast<std::uint32_t>(ServerState::Quit)) _exit(0);
    futex_wait(stage->server, now);
  }
}

bool serve(int thread_level) {
  Stage* const stage = enter_stage();
  std::fflush(nullptr);  // what is buffered now would be written by every copy
  stage->thread_level = static_cast<std::uint32_t>(thread_level);
  own_communicator();
  g_world_is_the_library = true;
  set_provider(&live_provider());
  put_everything();
  silence();
  // Whoever interrupts the explorer wants its result; it ends us.
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
  const pid_t server = stage->server_pid;
  set_state(stage, ServerState::Ready);
  for (;;) {
    const std::uint32_t now = stage->server.load(std::memory_order_acquire);
    if (now == static_cast<std::uint32_t>(ServerState::Quit)) _exit(0);
    if (now != static_cast<std::uint32_t>(ServerState::Begin)) {
      futex_wait(stage->server, now);
      continue;
    }
    set_state(stage, ServerState::Running);
    for (std::uint32_t rank = 0; rank < stage->ranks; ++rank) {
      const pid_t pid = fork();
      if (pid == 0) {
        become_rank(stage, static_cast<int>(rank), server);
        return stage->records != 0;
      }
      // Those that libraries stop before a fork, as some do, have ended now.
      if (threads::early_threads() > 0) {
        std::snprintf(stage->refusal, sizeof stage->refusal,
                      "threads that are there before MPI_Init cannot be explored");
        _exit(125);
      }
      if (pid < 0) {
        std::snprintf(stage->refusal, sizeof stage->refusal, "cannot make a process: %s", std::strerror(errno));
        _exit(125);
      }
      stage->seats[rank].pid = pid;
    }
    reap(stage);
    set_state(stage, ServerState::Ready);
  }
}

namespace {

bool g_finalized = false;

int finalize() {
  check::report_leaks();
  actor().act(Act::Finish, {});
  ask(Kind::All, 0, {});
  g_finalized = true;
  engine::Session::get().virtual_rank_is_over();
  return MPI_SUCCESS;
}

// The singleton stays up, for the sake of the other copies.
int finalized(int* flag) {
  *flag = g_finalized ? 1 : 0;
  return MPI_SUCCESS;
}

}  // namespace

void called_late(Function function, const void* caller) {
  actor().is_at(static_cast<std::uint64_t>(function), caller);
  t_state.function = function;
  t_state.caller = caller;
  end_run(check::Category::OutsideMpi, MPI_ERR_OTHER, "after MPI_Finalize");
}

namespace {

double wtime() { return static_cast<double>(sys::virtual_nanoseconds()) * 1e-9; }
double wtick() { return 1e-6; }

int abort(MPI_Comm, int code) {
  actor().ask(Act::Abort, {static_cast<std::uint64_t>(code), this_site(), this_function()});
  _exit(code & 0xff);
}

}  // namespace

void enter_world() { name_members(); }

void put_everything() {
  put_errors();
  put_point_to_point();
  put_completion();
  put_probes();
  put_collectives();
  put_windows();
  put_files();
  put_in_place_of_library(Function::Finalize, &finalize);
  put_in_place_of_library(Function::Finalized, &finalized);
  put_in_place_of_library(Function::Abort, &abort);
  put_in_place_of_library(Function::Wtime, &wtime);
  put_in_place_of_library(Function::Wtick, &wtick);
  put_world_at_border();
  put_groups_at_border();
  put_topologies_at_border();
  put_communicators();
  check::put_checks();
}

}  // namespace reprise::mpi::live
