// What all calls of an explored rank have in common: bytes, questions, requests and errors.
#include <algorithm>
#include <cstring>

#include "base/spin.hpp"
#include "engine/session.hpp"
#include "frontends/mpi/border/requests.hpp"
#include "frontends/mpi/communicators.hpp"
#include "frontends/mpi/live/collective.hpp"
#include "frontends/mpi/live/live.hpp"
#include "frontends/mpi/live/refusal.hpp"

namespace reprise::mpi::live {

using virtual_world::as_word;

Region region(const void* buffer, MPI_Count count, MPI_Datatype type) {
  if (count <= 0) return {};
  auto layout = layout_of(type);
  const std::uint64_t bytes = static_cast<std::uint64_t>(count) * layout->size;
  return {const_cast<void*>(buffer), bytes, std::move(layout)};
}

void pack(const Region& from, char* to) {
  if (!from.layout) return;
  from.layout->visit(from.buffer, from.bytes, [&](const std::uint8_t* run, std::size_t size) {
    std::memcpy(to, run, size);
    to += size;
  });
}

void unpack(const char* from, std::uint64_t bytes, const Region& to) {
  if (!to.layout) return;
  to.layout->visit(to.buffer, bytes < to.bytes ? bytes : to.bytes, [&](std::uint8_t* run, std::size_t size) {
    std::memcpy(run, from, size);
    from += size;
  });
}

// Also for those who never come back from here.
std::uint64_t this_site() {
  actor().is_at(this_function(), t_state.caller);
  return reinterpret_cast<std::uint64_t>(t_state.caller);
}
std::uint64_t this_function() { return static_cast<std::uint64_t>(t_state.function); }

// --- questions -------------------------------------------------------------------------------------------------------

namespace {

Reply read_reply(const std::uint64_t* words) {
  Reply reply;
  reply.yes = *words++ != 0;
  reply.taken = static_cast<OperationId>(*words++);
  reply.reports.resize(*words++);
  for (Report& report : reply.reports) {
    report.index = static_cast<std::uint32_t>(*words++);
    report.source = virtual_world::as_number(*words++);
    report.tag = virtual_world::as_number(*words++);
    report.bytes = *words++;
    report.data = *words++;
    report.cancelled = (*words++ & virtual_world::kCancelled) != 0;
    report.contributions.assign(words + 1, words + 1 + *words);
    words += 1 + *words;
  }
  return reply;
}

}  // namespace

namespace {

std::vector<std::shared_ptr<Request>>& orphans() {
  static auto* const all = new std::vector<std::shared_ptr<Request>>();
  return *all;
}

}  // namespace

void leave_orphan(std::shared_ptr<Request> request) { orphans().push_back(std::move(request)); }

namespace {

// What Reprise itself wants to know concerns no other thread.
Reply put_question(Kind kind, std::uint64_t flags, std::uint64_t comm, int source, int tag,
                   std::span<const OperationId> operations) {
  if (!engine::t_stream) refuse("MPI", "calls of a thread that was not seen being made");
  const std::vector<std::uint64_t> words(operations.begin(), operations.end());
  const bool alone = (flags & virtual_world::kOwnLook) != 0;
  return read_reply(actor().ask(
      engine::t_stream->number,
      {static_cast<std::uint64_t>(kind), flags, comm, as_word(source), as_word(tag), this_site(), this_function()},
      words, alone));
}

// Looks after them whenever the program learns something.
void look_at_orphans() {
  std::erase_if(orphans(), [](const std::shared_ptr<Request>& request) {
    const Reply reply = put_question(Kind::All, virtual_world::kOwnLook, 0, 0, 0, {&request->operation, 1});
    if (!reply.yes || reply.reports.empty()) return false;
    deliver(*request, reply.reports[0], MPI_STATUS_IGNORE);
    return true;
  });
}

}  // namespace

Reply ask(Kind kind, std::uint64_t flags, std::span<const OperationId> operations) {
  Reply reply = put_question(kind, flags, 0, 0, 0, operations);
  if (!orphans().empty()) look_at_orphans();
  return reply;
}

Reply ask_for_message(Kind kind, std::uint64_t flags, MPI_Comm comm, int source, int tag) {
  const Communicator* const found = known(comm);
  const int world =
      source == MPI_ANY_SOURCE || !found ? -1 : found->peers().members()[static_cast<std::size_t>(source)];
  return put_question(kind, flags, communicators().uid(comm), world, tag == MPI_ANY_TAG ? -1 : tag, {});
}

void await(OperationId operation) {
  if (operation != 0) ask(Kind::All, 0, {&operation, 1});
}

// --- requests --------------------------------------------------------------------------------------------------------

namespace {

std::atomic_flag g_lock;
std::unordered_map<std::uint64_t, std::shared_ptr<Request>>& all_requests() {
  static auto* const all = new std::unordered_map<std::uint64_t, std::shared_ptr<Request>>();
  return *all;
}

}  // namespace

std::shared_ptr<Request> find_request(MPI_Request handle) {
  const Spin spin(&g_lock);
  const auto found = all_requests().find(handle_key(handle));
  return found == all_requests().end() ? nullptr : found->second;
}

void forget_request(MPI_Request handle) {
  const Spin spin(&g_lock);
  all_requests().erase(handle_key(handle));
}

int carry(std::shared_ptr<Request> request, MPI_Request* handle) {
  const int rc = make_carrier(request->persistent, handle);
  if (rc != MPI_SUCCESS) return rc;
  const Spin spin(&g_lock);
  all_requests()[handle_key(*handle)] = std::move(request);
  return MPI_SUCCESS;
}

int deliver(Request& request, const Report& report, MPI_Status* status) {
  if (request.collective) {
    show_empty_status(status);
    return request.collective->finish(report.contributions);
  }
  if (!request.hears || report.cancelled) {
    show_status({MPI_ANY_SOURCE, MPI_ANY_TAG, 0, report.cancelled, MPI_SUCCESS}, status);
    return MPI_SUCCESS;
  }
  const Communicator* const found = known(request.comm);
  const int source = found ? found->peers().rank_of(report.source).value_or(0) : 0;
  const bool fits = report.bytes <= request.into.bytes;
  if (report.data != 0) {
    unpack(actor().bytes(report.data), report.bytes, request.into);
    actor().give_back(report.data);
  }
  const int error = fits ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
  show_status({source, report.tag, static_cast<std::int64_t>(fits ? report.bytes : request.into.bytes), false, error},
              status);
  return error;
}

// --- errors ----------------------------------------------------------------------------------------------------------

namespace {

bool is_fatal(MPI_Comm comm) {
  MPI_Errhandler handler{};
  singleton_function<int (*)(MPI_Comm, MPI_Errhandler*)>(Function::Comm_get_errhandler)(comm, &handler);
  const bool fatal = handle_key(handler) == handle_key(handles().errors_are_fatal);
  singleton_function<int (*)(MPI_Errhandler*)>(Function::Errhandler_free)(&handler);
  return fatal;
}

}  // namespace

int raise(MPI_Comm comm, int error) {
  if (error == MPI_SUCCESS) return MPI_SUCCESS;
  const MPI_Comm raised = known(comm) ? comm : handles().comm_world;
  if (is_fatal(raised)) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    int kind = error;
    singleton_function<int (*)(int, char*, int*)>(Function::Error_string)(error, text, &length);
    singleton_function<int (*)(int, int*)>(Function::Error_class)(error, &kind);
    std::uint64_t words[16] = {};
    std::memcpy(words, text, std::min(sizeof words - 1, std::strlen(text)));
    actor().ask(Act::Error, {static_cast<std::uint64_t>(kind), this_site(), this_function()}, words);  // never returns
  }
  return raise_again(raised, error);
}

int check_peer(MPI_Comm comm, int peer, int tag, bool may_be_any) {
  const Communicator* const found = known(comm);
  if (!found) return MPI_ERR_COMM;
  if (peer == MPI_PROC_NULL) return MPI_SUCCESS;
  if (may_be_any && peer == MPI_ANY_SOURCE) peer = 0;
  if (peer < 0 || peer >= found->peers().size()) return MPI_ERR_RANK;
  if (tag < 0 && !(may_be_any && tag == MPI_ANY_TAG)) return MPI_ERR_TAG;
  return MPI_SUCCESS;
}

}  // namespace reprise::mpi::live
