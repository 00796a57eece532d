#include "frontends/mpi/check/message_log.hpp"

#include <initializer_list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/spin.hpp"
#include "engine/session.hpp"
#include "frontends/mpi/check/fatal_errors.hpp"
#include "frontends/mpi/check/handles.hpp"
#include "frontends/mpi/check/signature.hpp"
#include "frontends/mpi/communicators.hpp"
#include "frontends/mpi/entry.hpp"
#include "trace/message_log.hpp"

namespace reprise::mpi::check {
namespace {

using trace::MessageRecord;

constexpr std::uint64_t kNone = UINT64_MAX;

std::int64_t number(std::uint64_t value) { return static_cast<std::int64_t>(value); }

engine::DataRecorder& file() { return engine::Session::get().messages(); }

void put(MessageRecord kind, std::initializer_list<std::int64_t> fields) {
  file().add(static_cast<engine::DataKind>(kind), {fields.begin(), fields.size()}, {}, {});
}

void put_part(MessageRecord kind, const void* from, std::size_t size) {
  const std::uint64_t part = size;
  const engine::DataRun run{from, size};
  file().add(static_cast<engine::DataKind>(kind), {}, {&part, 1}, {&run, 1});
}

// What of a Described is written.
struct Data {
  std::uint64_t bytes = 0;
  std::uint64_t signature = kNone;
};

// The type may be freed before it is started.
struct Prepared {
  bool sends = false;
  MPI_Comm comm{};
  CommunicatorFacts facts;
  int peer = 0;
  int tag = 0;
  Data data;
};

struct Log {
  std::atomic_flag lock;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> places;
  std::map<std::vector<std::uint64_t>, std::uint64_t> signatures;
  std::unordered_map<std::uint64_t, Prepared> prepared;
  const engine::ThreadStream* caller = nullptr;
  bool unordered = false;
};
Log& log() {
  static auto* const one = new Log();  // never destroyed: the program may call MPI while it ends
  return *one;
}

// All of the following within the lock.

std::uint64_t this_place() {
  const Where where = here();
  const auto [found, is_new] = log().places.try_emplace({where.site, where.function}, log().places.size());
  if (is_new) {
    const std::string text = place_fields(where);
    put_part(MessageRecord::Place, text.data(), text.size());
  }
  return found->second;
}

std::uint64_t signature_number(const Described& what) {
  std::vector<std::uint64_t> words = engine::to_words(*signature_of(what.type));
  const auto [found, is_new] = log().signatures.try_emplace(std::move(words), log().signatures.size());
  if (is_new) put_part(MessageRecord::Signature, found->first.data(), 8 * found->first.size());
  return found->second;
}

Data data_of(const Described& what) {
  if (!what.matters) return {};
  const auto count = static_cast<std::uint64_t>(what.count > 0 ? what.count : 0);
  return {count * static_cast<std::uint64_t>(type_size(what.type)), signature_number(what)};
}

void give_up_order() {
  if (std::exchange(log().unordered, true)) return;
  put(MessageRecord::Unordered, {});
}

// With several threads nobody knows in which order the library sees their calls.
bool begin(MPI_Comm comm, const CommunicatorFacts& facts) {
  if (!file().is_open() || facts.inter || facts.rank < 0 || communicator_number(comm) == engine::kNoComm) return false;
  if (!log().caller) log().caller = engine::t_stream;
  if (log().caller != engine::t_stream) give_up_order();
  return true;
}

void put_receive(MPI_Comm comm, const CommunicatorFacts& facts, int source, int tag, const Data& data,
                 std::uint64_t wildcard) {
  put(MessageRecord::Receive,
      {number(communicators().uid(comm)), facts.rank, source == MPI_ANY_SOURCE ? -1 : source, tag == MPI_ANY_TAG ? -1 : tag,
       number(data.bytes), number(data.signature), number(this_place()), number(source == MPI_ANY_SOURCE ? wildcard : kNone),
       is_fatal(comm) ? 1 : 0});
}

void put_send(MPI_Comm comm, const CommunicatorFacts& facts, int dest, int tag, const Data& data) {
  put(MessageRecord::Send, {number(communicators().uid(comm)), facts.rank, dest, tag, number(data.bytes),
                            number(data.signature), number(this_place())});
}

// Operations of the program's own have a handle in each rank; those of MPI are numbered alike.
std::uint64_t operation_number(MPI_Op op) {
  if (!is_predefined(op)) return 1;
#ifdef OPEN_MPI
  return 2 + static_cast<std::uint64_t>(library_function<MPI_Fint (*)(MPI_Op)>(Function::Op_c2f)(op));
#else
  return handle_key(op);
#endif
}

std::uint64_t wildcards() { return engine::t_stream ? engine::t_stream->recorder.wildcards() : 0; }

}  // namespace

void log_send(MPI_Comm comm, const CommunicatorFacts& facts, int dest, int tag, const Described& what) {
  if (!file().is_open() || dest == MPI_PROC_NULL) return;
  const Spin spin(&log().lock);
  if (begin(comm, facts)) put_send(comm, facts, dest, tag, data_of(what));
}

void log_receive(MPI_Comm comm, const CommunicatorFacts& facts, int source, int tag, const Described& what) {
  if (!file().is_open() || source == MPI_PROC_NULL) return;
  const Spin spin(&log().lock);
  if (begin(comm, facts)) put_receive(comm, facts, source, tag, data_of(what), wildcards() - 1);  // it has its slot already
}

void log_matched(MPI_Comm comm, int source, int tag, bool asked_once) {
  if (!file().is_open() || source == MPI_PROC_NULL) return;
  const auto facts = host().facts(comm);
  const Spin spin(&log().lock);
  if (facts && begin(comm, *facts)) put_receive(comm, *facts, source, tag, {}, wildcards() - (asked_once ? 1 : 0));
}

void log_collective(MPI_Comm comm, const CommunicatorFacts& facts, int root, const MPI_Op* op, const Described& gives,
                    const Described& takes) {
  if (!file().is_open()) return;
  const Spin spin(&log().lock);
  if (!begin(comm, facts)) return;
  const std::uint64_t operation = op ? operation_number(*op) : 0;
  const Data given = data_of(gives);
  const Data taken = data_of(takes);
  put(MessageRecord::Collective,
      {number(communicators().uid(comm)), facts.rank, number(this_place()), root, number(operation), number(given.bytes),
       number(given.signature), number(taken.bytes), number(taken.signature)});
}

void log_cancel() {
  if (!file().is_open()) return;
  const Spin spin(&log().lock);
  give_up_order();
}

void remember_prepared(std::uint64_t request, bool sends, MPI_Comm comm, const CommunicatorFacts& facts, int peer, int tag,
                       const Described& what) {
  if (!file().is_open()) return;
  const Spin spin(&log().lock);
  log().prepared[request] = {sends, comm, facts, peer, tag, data_of(what)};
}

void forget_prepared(std::uint64_t request) {
  if (!file().is_open()) return;
  const Spin spin(&log().lock);
  log().prepared.erase(request);
}

void log_start(MPI_Count n, const MPI_Request* requests) {
  if (!file().is_open()) return;
  const Spin spin(&log().lock);
  for (MPI_Count i = 0; i < n; ++i) {
    const auto found = log().prepared.find(handle_key(requests[i]));
    if (found == log().prepared.end()) continue;
    const Prepared& one = found->second;
    if (one.peer == MPI_PROC_NULL || !begin(one.comm, one.facts)) continue;
    if (one.sends) put_send(one.comm, one.facts, one.peer, one.tag, one.data);
    else if (one.peer == MPI_ANY_SOURCE) give_up_order();  // several of them may be started at once
    else put_receive(one.comm, one.facts, one.peer, one.tag, one.data, kNone);
  }
}

}  // namespace reprise::mpi::check
