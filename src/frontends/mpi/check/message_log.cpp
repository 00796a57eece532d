#include "frontends/mpi/check/message_log.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/site_text.hpp"
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

std::uint64_t word(std::int64_t number) { return static_cast<std::uint64_t>(number); }

// A file that grows, seen through one piece of it after the other: what is in there is kept, however the rank ends.
class MappedWords {
 public:
  bool open(const std::string& path) {
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    return fd_ >= 0 && map_next();
  }
  bool is_open() const { return words_ != nullptr; }
  // Records do not cross the end of a piece: what is left of it stays zero, for the reader to pass over.
  void put(MessageRecord kind, const std::uint64_t* words, std::size_t count) {
    if (!words_ || count + 1 > kWords) return;
    if (used_ + count + 1 > kWords && !map_next()) return;
    std::memcpy(words_ + used_ + 1, words, 8 * count);
    std::atomic_signal_fence(std::memory_order_release);
    words_[used_] = trace::message_word(kind, count);
    used_ += count + 1;
  }
  // Nothing more comes.
  void close() {
    if (!words_) return;
    munmap(words_, 8 * kWords);
    words_ = nullptr;
    if (ftruncate(fd_, static_cast<off_t>(8 * ((pieces_ - 1) * kWords + used_))) != 0) {}  // it stays as large as it is
    ::close(fd_);
  }
  void put_magic() { words_[used_++] = trace::kMessagesMagic; }

 private:
  static constexpr std::size_t kWords = trace::kMessagePiece;

  bool map_next() {
    if (words_) munmap(words_, 8 * kWords);
    words_ = nullptr;
    const auto at = static_cast<off_t>(pieces_ * 8 * kWords);
    if (posix_fallocate(fd_, at, 8 * kWords) != 0) return false;  // a full disk is no reason to end the program
    void* const memory = mmap(nullptr, 8 * kWords, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, at);
    if (memory == MAP_FAILED) return false;
    words_ = static_cast<std::uint64_t*>(memory);
    used_ = 0;
    ++pieces_;
    return true;
  }

  int fd_ = -1;
  std::uint64_t* words_ = nullptr;
  std::size_t used_ = 0;
  std::size_t pieces_ = 0;
};

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
  MappedWords file;
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
    static LoadedModule room;
    const std::string text = std::string(kFunctionNames[where.function]) + '|' + site_text(where.site, room);
    std::vector<std::uint64_t> words(1 + (text.size() + 7) / 8);
    words[0] = text.size();
    std::memcpy(words.data() + 1, text.data(), text.size());
    log().file.put(MessageRecord::Place, words.data(), words.size());
  }
  return found->second;
}

std::uint64_t signature_number(const Described& what) {
  std::vector<std::uint64_t> words = engine::to_words(*signature_of(what.type));
  const auto [found, is_new] = log().signatures.try_emplace(std::move(words), log().signatures.size());
  if (is_new) log().file.put(MessageRecord::Signature, found->first.data(), found->first.size());
  return found->second;
}

Data data_of(const Described& what) {
  if (!what.matters) return {};
  const auto count = static_cast<std::uint64_t>(what.count > 0 ? what.count : 0);
  return {count * static_cast<std::uint64_t>(type_size(what.type)), signature_number(what)};
}

void give_up_order() {
  if (std::exchange(log().unordered, true)) return;
  log().file.put(MessageRecord::Unordered, nullptr, 0);
}

// With several threads nobody knows in which order the library sees their calls.
bool begin(MPI_Comm comm, const CommunicatorFacts& facts) {
  if (!log().file.is_open() || facts.inter || facts.rank < 0 || communicator_number(comm) == engine::kNoComm) return false;
  if (!log().caller) log().caller = engine::t_stream;
  if (log().caller != engine::t_stream) give_up_order();
  return true;
}

void put_receive(MPI_Comm comm, const CommunicatorFacts& facts, int source, int tag, const Data& data,
                 std::uint64_t wildcard) {
  const std::uint64_t words[] = {communicators().uid(comm),
                                 word(facts.rank),
                                 word(source == MPI_ANY_SOURCE ? -1 : source),
                                 word(tag == MPI_ANY_TAG ? -1 : tag),
                                 data.bytes,
                                 data.signature,
                                 this_place(),
                                 source == MPI_ANY_SOURCE ? wildcard : kNone,
                                 is_fatal(comm) ? 1u : 0u};
  log().file.put(MessageRecord::Receive, words, std::size(words));
}

void put_send(MPI_Comm comm, const CommunicatorFacts& facts, int dest, int tag, const Data& data) {
  const std::uint64_t words[] = {communicators().uid(comm), word(facts.rank), word(dest),  word(tag),
                                 data.bytes,                data.signature,   this_place()};
  log().file.put(MessageRecord::Send, words, std::size(words));
}

// Operations of the program's own have a handle in each rank; those of MPI are numbered alike.
std::uint64_t operation_number(MPI_Op op) {
  if (is_alive(Handle::Operation, handle_key(op))) return 1;
#ifdef OPEN_MPI
  return 2 + word(library_function<MPI_Fint (*)(MPI_Op)>(Function::Op_c2f)(op));
#else
  return handle_key(op);
#endif
}

std::uint64_t wildcards() { return engine::t_stream ? engine::t_stream->recorder.wildcards() : 0; }

}  // namespace

void open_message_log(std::uint32_t rank) {
  const std::string path =
      engine::Session::get().configuration().directory + "/rank-" + std::to_string(rank) + ".messages";
  if (log().file.open(path)) log().file.put_magic();
}

void close_message_log() {
  const Spin spin(&log().lock);
  log().file.close();
}

void log_send(MPI_Comm comm, const CommunicatorFacts& facts, int dest, int tag, const Described& what) {
  if (!log().file.is_open() || dest == MPI_PROC_NULL) return;
  const Spin spin(&log().lock);
  if (begin(comm, facts)) put_send(comm, facts, dest, tag, data_of(what));
}

void log_receive(MPI_Comm comm, const CommunicatorFacts& facts, int source, int tag, const Described& what) {
  if (!log().file.is_open() || source == MPI_PROC_NULL) return;
  const Spin spin(&log().lock);
  if (begin(comm, facts)) put_receive(comm, facts, source, tag, data_of(what), wildcards() - 1);  // it has its slot already
}

void log_matched(MPI_Comm comm, int source, int tag, bool asked_once) {
  if (!log().file.is_open() || source == MPI_PROC_NULL) return;
  const auto facts = host().facts(comm);
  const Spin spin(&log().lock);
  if (facts && begin(comm, *facts)) put_receive(comm, *facts, source, tag, {}, wildcards() - (asked_once ? 1 : 0));
}

void log_collective(MPI_Comm comm, const CommunicatorFacts& facts, int root, const MPI_Op* op, const Described& gives,
                    const Described& takes) {
  if (!log().file.is_open()) return;
  const Spin spin(&log().lock);
  if (!begin(comm, facts)) return;
  const std::uint64_t operation = op ? operation_number(*op) : 0;
  const Data given = data_of(gives);
  const Data taken = data_of(takes);
  const std::uint64_t words[] = {communicators().uid(comm), word(facts.rank), this_place(), word(root), operation,
                                 given.bytes,               given.signature,  taken.bytes,  taken.signature};
  log().file.put(MessageRecord::Collective, words, std::size(words));
}

void log_cancel() {
  if (!log().file.is_open()) return;
  const Spin spin(&log().lock);
  give_up_order();
}

void remember_prepared(std::uint64_t request, bool sends, MPI_Comm comm, const CommunicatorFacts& facts, int peer, int tag,
                       const Described& what) {
  if (!log().file.is_open()) return;
  const Spin spin(&log().lock);
  log().prepared[request] = {sends, comm, facts, peer, tag, data_of(what)};
}

void log_start(MPI_Count n, const MPI_Request* requests) {
  if (!log().file.is_open()) return;
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
