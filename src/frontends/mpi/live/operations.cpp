// What all calls of an explored rank have in common: bytes, questions, requests and errors.
#include <algorithm>
#include <cstring>

#include "base/spin.hpp"
#include "engine/session.hpp"
#include "frontends/mpi/border/requests.hpp"
#include "frontends/mpi/check/handles.hpp"
#include "frontends/mpi/communicators.hpp"
#include "frontends/mpi/live/collective.hpp"
#include "frontends/mpi/live/live.hpp"
#include "frontends/mpi/live/refusal.hpp"
#include "frontends/mpi/live/windows.hpp"

namespace reprise::mpi::live {

using virtual_world::as_word;

Region region(const void* buffer, MPI_Count count, MPI_Datatype type) {
  if (count <= 0) return {};
  auto layout = layout_of(type);
  const std::uint64_t bytes = static_cast<std::uint64_t>(count) * layout->size;
  return {const_cast<void*>(buffer), bytes, std::move(layout), check::signature_of(type)};
}

std::vector<std::uint64_t> label_of(const Region& region) {
  std::vector<std::uint64_t> words{this_site(), this_function()};
  const auto signature = engine::to_words(region.signature ? *region.signature : check::Signature());
  words.insert(words.end(), signature.begin(), signature.end());
  return words;
}

Label::Label(const char* at) {
  const auto* const words = reinterpret_cast<const std::uint64_t*>(at);
  from = {-1, words[0], words[1]};
  signature = engine::from_words(words + 2);
  data = at + 8 * (3 + 2 * signature.runs.size());
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
  if (g_watches_memory) notice_stores();
  // Only the thread that has initialised MPI may call it (MPI 4.0, 11.6).
  static thread_local bool said = false;
  if (engine::t_stream && engine::t_stream->number != 0 && !said &&
      actor().stage()->thread_level < static_cast<std::uint32_t>(MPI_THREAD_SERIALIZED)) {
    said = true;
    check::report(check::Category::ThreadLevel, check::here(), "another thread than that of MPI_Init calls MPI");
  }
  return reinterpret_cast<std::uint64_t>(t_state.caller);
}
std::uint64_t this_function() { return static_cast<std::uint64_t>(t_state.function); }
std::uint64_t this_function_word() {
  return this_function() | (g_regions.load(std::memory_order_relaxed) > 0 ? virtual_world::kInRegion : 0);
}

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
      {static_cast<std::uint64_t>(kind), flags, comm, as_word(source), as_word(tag), this_site(), this_function_word()},
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

// Before an error is raised: a handler of the program may jump out of the call.
void forget_request(MPI_Request handle) {
  check::given_back(check::Handle::Request, handle_key(handle));
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
  if (request.lent) request.lent->end();
  request.lent.reset();
  if (request.collective) {
    show_empty_status(status);
    return request.collective->finish(report.contributions);
  }
  if (request.access) request.access->finish();
  if (!request.hears || report.cancelled) {
    show_status({MPI_ANY_SOURCE, MPI_ANY_TAG, 0, report.cancelled, MPI_SUCCESS}, status);
    return MPI_SUCCESS;
  }
  const Communicator* const found = known(request.comm);
  const int source = found ? found->peers().rank_of(report.source).value_or(0) : 0;
  const bool fits = report.bytes <= request.into.bytes;
  if (report.data != 0) {
    Label label(actor().bytes(report.data));
    label.from.rank = report.source;
    if (fits && request.into.signature)
      if (const std::string wrong = engine::difference(label.signature, *request.into.signature, report.bytes);
          !wrong.empty())
        check::report(check::Category::TypeMismatch, request.posted.site != 0 ? request.posted : check::here(),
                      wrong.c_str(), label.from);
    unpack(label.data, report.bytes, request.into);
    actor().give_back(report.data);
  }
  const int error = fits ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
  show_status({source, report.tag, static_cast<std::int64_t>(fits ? report.bytes : request.into.bytes), false, error},
              status);
  return error;
}

}  // namespace reprise::mpi::live
