#include "frontends/mpi/check/recorded.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>

#include "base/site_text.hpp"
#include "base/spin.hpp"
#include "engine/session.hpp"
#include "frontends/mpi/check/arguments.hpp"
#include "frontends/mpi/communicators.hpp"

namespace reprise::mpi::check {
namespace {

std::atomic_flag g_lock;

std::string place_fields(const Where& where) {
  static LoadedModule room;  // within the lock
  return std::string(kFunctionNames[where.function]) + '|' + site_text(where.site, room);
}

// What is wrong at one place is noted once, however often it happens.
void note(Category category, const Where& where, const char* words, const Where& other) {
  static auto* const said = new std::set<std::string>();  // never destroyed: the program may call MPI while it ends
  const Spin spin(&g_lock);
  std::string text = words;
  std::replace(text.begin(), text.end(), '|', '/');
  const std::string line = std::to_string(static_cast<int>(category)) + '|' + text + '|' + place_fields(where);
  if (!said->insert(line).second) return;
  engine::Session& session = engine::Session::get();
  session.append_note("finding", line);
  if (other.site != 0) session.append_note("finding-other", std::to_string(other.rank) + '|' + place_fields(other));
}

CommunicatorFacts ask(MPI_Comm comm) {
  CommunicatorFacts facts;
  int inter = 0;
  library_function<int (*)(MPI_Comm, int*)>(Function::Comm_rank)(comm, &facts.rank);
  library_function<int (*)(MPI_Comm, int*)>(Function::Comm_test_inter)(comm, &inter);
  facts.inter = inter != 0;
  library_function<int (*)(MPI_Comm, int*)>(inter ? Function::Comm_remote_size : Function::Comm_size)(comm,
                                                                                                      &facts.peers);
  return facts;
}

// A communicator that was never seen made may be one all the same.
std::optional<CommunicatorFacts> facts(MPI_Comm comm) {
  static auto* const known = new std::unordered_map<std::int64_t, CommunicatorFacts>();
  if (was_freed(Handle::Communicator, handle_key(comm))) return std::nullopt;
  const std::int64_t number = communicators().number(comm);
  if (number == engine::kNoComm) return CommunicatorFacts{};
  const Spin spin(&g_lock);
  const auto found = known->find(number);
  if (found != known->end()) return found->second;
  return (*known)[number] = ask(comm);
}

bool is_fatal(MPI_Comm comm) {
  MPI_Errhandler handler{};
  library_function<int (*)(MPI_Comm, MPI_Errhandler*)>(Function::Comm_get_errhandler)(comm, &handler);
  const bool fatal = handle_key(handler) == handle_key(handles().errors_are_fatal);
  library_function<int (*)(MPI_Errhandler*)>(Function::Errhandler_free)(&handler);
  return fatal;
}

}  // namespace

void check_recorded_run() {
  set_host({&note, nullptr, &facts, &is_fatal, nullptr});
  put_checks();
}

void end_of_recorded_run() { report_leaks(); }

}  // namespace reprise::mpi::check
