// Errors of an explored rank. Where the program has no handler of its own, they end the run, and the explorer is told
// what it was: what we find wrong ourselves, and what the singleton does.
#include <algorithm>
#include <cstring>
#include <unistd.h>

#include "frontends/mpi/border/operation.hpp"
#include "frontends/mpi/check/fatal_errors.hpp"
#include "frontends/mpi/live/live.hpp"

namespace reprise::mpi::live {
namespace {

[[noreturn]] void fail(int error, const char* words) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  int kind = error;
  singleton_function<int (*)(int, char*, int*)>(Function::Error_string)(error, text, &length);
  singleton_function<int (*)(int, int*)>(Function::Error_class)(error, &kind);
  end_run(check::category_of_error(kind), kind, words ? words : text);
}

void singleton_failed(MPI_Comm, int error) { fail(error, nullptr); }

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
  if (check::is_fatal(raised)) fail(error, words);
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
  check::set_host({&tell, &raise, &facts, &end_run});
  put_in_place_of_library(Function::Comm_get_errhandler, &check::get_errhandler);
  put_in_place_of_library(Function::Comm_set_errhandler, &check::set_errhandler);
  check::watch_fatal_errors(&singleton_failed);
}

}  // namespace reprise::mpi::live
