#include "frontends/mpi/check/recorded.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>

#include "base/spin.hpp"
#include "engine/session.hpp"
#include "frontends/mpi/check/arguments.hpp"
#include "frontends/mpi/check/fatal_errors.hpp"
#include "frontends/mpi/communicators.hpp"

namespace reprise::mpi::check {
namespace {

std::atomic_flag g_lock;

std::set<std::pair<std::uint64_t, std::uint64_t>>& noted_places() {
  static auto* const all = new std::set<std::pair<std::uint64_t, std::uint64_t>>();
  return *all;
}

// What is wrong at one place is noted once, however often it happens.
void note_as(const char* key, Category category, const Where& where, const char* words, const Where& other) {
  static auto* const said = new std::set<std::string>();  // never destroyed: the program may call MPI while it ends
  const Spin spin(&g_lock);
  std::string text = words;
  std::replace(text.begin(), text.end(), '|', '/');
  const std::string line = std::to_string(static_cast<int>(category)) + '|' + text + '|' + place_fields(where);
  if (!said->insert(line).second) return;
  noted_places().emplace(where.site, where.function);
  engine::Session& session = engine::Session::get();
  session.append_note(key, line);
  if (other.site != 0) session.append_note("finding-other", std::to_string(other.rank) + '|' + place_fields(other));
}

void note(Category category, const Where& where, const char* words, const Where& other) {
  note_as("finding", category, where, words, other);
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

// Something was noted of this call already.
bool is_known(const Where& where) {
  const Spin spin(&g_lock);
  return noted_places().contains({where.site, where.function});
}

// What the library itself says before it ends the program.
void library_failed(MPI_Comm comm, int error) {
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  int kind = error;
  library_function<int (*)(int, int*)>(Function::Error_class)(error, &kind);
  library_function<int (*)(int, char*, int*)>(Function::Error_string)(kind, text, &length);  // without its stack
  if (!is_known(here())) note_as("finding-library", category_of_error(kind), here(), text, {});
  let_be_fatal(comm);
  library_function<int (*)(MPI_Comm, int)>(Function::Comm_call_errhandler)(comm, error);
}

}  // namespace

void check_recorded_run() {
  set_host({&note, nullptr, &facts, nullptr});
  engine::Session::get().open_messages();
  put_checks();
  put_check(Function::Comm_get_errhandler, reinterpret_cast<void*>(&get_errhandler));
  put_check(Function::Comm_set_errhandler, reinterpret_cast<void*>(&set_errhandler));
  watch_fatal_errors(&library_failed);
}

void end_of_recorded_run() { report_leaks(); }

}  // namespace reprise::mpi::check
