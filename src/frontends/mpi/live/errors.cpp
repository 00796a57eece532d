// Errors of an explored rank. Where the program has no handler of its own, they end the run, and the explorer is told
// what it was: what we find wrong ourselves, and what the singleton does.
#include <algorithm>
#include <cstring>
#include <unistd.h>

#include "frontends/mpi/border/operation.hpp"
#include "frontends/mpi/live/live.hpp"

namespace reprise::mpi::live {
namespace {

MPI_Errhandler g_fatal{};  // stands for MPI_ERRORS_ARE_FATAL

[[noreturn]] void fail(int error, const char* words) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  int kind = error;
  singleton_function<int (*)(int, char*, int*)>(Function::Error_string)(error, text, &length);
  singleton_function<int (*)(int, int*)>(Function::Error_class)(error, &kind);
  end_run(check::category_of_error(kind), kind, words ? words : text);
}

void singleton_failed(MPI_Comm*, int* error, ...) { fail(*error, nullptr); }

bool is_fatal(MPI_Errhandler handler) {
  return handle_key(handler) == handle_key(g_fatal) || handle_key(handler) == handle_key(handles().errors_are_fatal);
}

int get_errhandler(MPI_Comm comm, MPI_Errhandler* handler) {
  const int rc = singleton_function<int (*)(MPI_Comm, MPI_Errhandler*)>(Function::Comm_get_errhandler)(comm, handler);
  if (rc != MPI_SUCCESS || handle_key(*handler) != handle_key(g_fatal)) return rc;
  singleton_function<int (*)(MPI_Errhandler*)>(Function::Errhandler_free)(handler);
  *handler = handles().errors_are_fatal;
  return MPI_SUCCESS;
}

int set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  return singleton_function<int (*)(MPI_Comm, MPI_Errhandler)>(Function::Comm_set_errhandler)(
      comm, is_fatal(handler) ? g_fatal : handler);
}

}  // namespace

void end_run(check::Category category, int error_class, const char* words) {
  std::uint64_t text[virtual_world::kTextWords] = {};
  std::memcpy(text, words, std::min(sizeof text - 1, std::strlen(words)));
  actor().ask(
      Act::Error,
      {static_cast<std::uint64_t>(category), static_cast<std::uint64_t>(error_class), this_site(), this_function()},
      text);
  _exit(1);  // nobody answers that
}

int raise(MPI_Comm comm, int error, const char* words) {
  if (error == MPI_SUCCESS) return MPI_SUCCESS;
  const MPI_Comm raised = known(comm) ? comm : handles().comm_world;
  MPI_Errhandler handler{};
  singleton_function<int (*)(MPI_Comm, MPI_Errhandler*)>(Function::Comm_get_errhandler)(raised, &handler);
  const bool fatal = is_fatal(handler);
  singleton_function<int (*)(MPI_Errhandler*)>(Function::Errhandler_free)(&handler);
  if (fatal) fail(error, words);
  return raise_again(raised, error);
}

namespace {

void tell(check::Category category, const check::Where& where, const char* words, const check::Where& other) {
  std::uint64_t text[virtual_world::kTextWords] = {};
  std::memcpy(text, words, std::min(sizeof text - 1, std::strlen(words)));
  actor().act(Act::Finding,
              {static_cast<std::uint64_t>(category), virtual_world::as_word(where.rank), where.site, where.function,
               virtual_world::as_word(other.rank), other.site, other.function},
              text);
}

std::optional<check::CommunicatorFacts> facts(MPI_Comm comm) {
  const Communicator* const found = known(comm);
  if (!found) return std::nullopt;
  return check::CommunicatorFacts{found->rank, found->peers().size(), found->inter()};
}

}  // namespace

void put_errors() {
  check::set_host({&tell, &raise, &facts, nullptr, &end_run});
  using Create = int (*)(MPI_Comm_errhandler_function*, MPI_Errhandler*);
  singleton_function<Create>(Function::Comm_create_errhandler)(&singleton_failed, &g_fatal);
  put_in_place_of_library(Function::Comm_get_errhandler, &get_errhandler);
  put_in_place_of_library(Function::Comm_set_errhandler, &set_errhandler);
  for (const MPI_Comm comm : {handles().comm_world, handles().comm_self})
    set_errhandler(comm, handles().errors_are_fatal);
}

}  // namespace reprise::mpi::live
