#include "frontends/mcapi/process.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>

#include "base/spin.hpp"
#include "engine/supervision.hpp"
#include "frontends/mcapi/call.hpp"
#include "frontends/mcapi/identity.hpp"
#include "frontends/threads/sync.hpp"

namespace reprise::mcapi {
namespace {

std::string read_all(int file) {
  std::string text;
  char part[4096];
  for (off_t at = 0;;) {
    const ssize_t got = pread(file, part, sizeof part, at);
    if (got <= 0) return text;
    text.append(part, static_cast<std::size_t>(got));
    at += got;
  }
}

// A line of the file `nodes` for each process that became a rank, and for each thread that was there before: the node that it became
// first, the rank and the thread. Rank 0 is the program that was started, where that can have nodes itself.
std::string entry(mcapi_domain_t domain, mcapi_node_t node) { return std::to_string(domain) + ":" + std::to_string(node) + "\t"; }

struct Place {
  std::uint32_t rank = 0;
  std::uint32_t thread = 0;
};

std::optional<Place> place_in(std::string_view line, const std::string& wanted) {
  const auto words = engine::split(line.substr(std::min(line.size(), wanted.size())), '\t');
  Place place;
  const bool is_it = line.starts_with(wanted) && words.size() == 2 && engine::parse_number(words[0], place.rank) && engine::parse_number(words[1], place.thread);
  return is_it ? std::optional(place) : std::nullopt;
}

class NodeList {
 public:
  NodeList() {
    const engine::Configuration& settings = Session::get().configuration();
    const std::string path = settings.directory + "/nodes";
    recording_ = settings.mode == Mode::Record;
    file_ = open(path.c_str(), recording_ ? O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0644);
    while (recording_ && file_ >= 0 && flock(file_, LOCK_EX) != 0)
      if (errno != EINTR) break;
    if (file_ >= 0) text_ = read_all(file_);
  }
  ~NodeList() {
    if (file_ >= 0) close(file_);
  }
  NodeList(const NodeList&) = delete;
  NodeList& operator=(const NodeList&) = delete;

  std::optional<Place> find(const std::string& wanted) const {
    for (const std::string_view line : engine::split(text_, '\n'))
      if (const auto place = place_in(line, wanted)) return place;
    return std::nullopt;
  }
  std::uint32_t next_rank() const {
    std::uint32_t next = Session::get().configuration().starter_is_rank ? 1 : 0;
    for (const std::string_view line : engine::split(text_, '\n'))
      if (const auto place = place_in(line, std::string(line.substr(0, line.find('\t') + 1)))) next = std::max(next, place->rank + 1);
    return next;
  }
  // Nothing: its name was another process's or thread's, and one log cannot hold both.
  std::optional<Place> add(const std::string& name, const Place& place) {
    const std::string line = name + std::to_string(place.rank) + "\t" + std::to_string(place.thread) + "\n";
    if (file_ < 0 || find(name)) return std::nullopt;
    return write(file_, line.data(), line.size()) == static_cast<ssize_t>(line.size()) ? std::optional(place) : std::nullopt;
  }

 private:
  int file_ = -1;
  bool recording_ = false;
  std::string text_;
};

// Where the running thread belongs, which has no log yet.
std::optional<Place> place_of(mcapi_domain_t domain, mcapi_node_t node) {
  Session& session = Session::get();
  NodeList list;
  if (session.configuration().mode == Mode::Replay) return list.find(entry(domain, node));
  const std::uint32_t rank = session.attached() ? session.rank() : list.next_rank();
  return list.add(entry(domain, node), {rank, engine::on_main_thread() ? 0 : session.next_thread_number()});
}

// Whoever waits for its end goes on.
[[noreturn]] void leave_out() {
  const bool has_others = !engine::t_stream || engine::t_stream->number > 0;  // followed, or dormant (frontends/threads/life.cpp)
  if (!has_others) _exit(0);
  Session::get().is_left_out();
  t_inside = false;
  pthread_exit(nullptr);
}

void attach_process(std::uint32_t rank) {
  Session& session = Session::get();
  session.is_node(rank);
  session.wake(frontends::all_functions());
  engine::Identity identity;
  identity.rank = rank;
  identity.ranks = std::max(rank + 1, session.configuration().ranks);
  identity.library = "mcapi";
  identity.thread_level = "none";
  session.attach(identity, {});
}

std::atomic_flag g_becoming;

}  // namespace

void become_rank(mcapi_domain_t domain, mcapi_node_t node) {
  if (t_inside || engine::mode() == Mode::Passive) return;
  Session& session = Session::get();
  const std::string& only = session.configuration().only_nodes;
  if (!only.empty() && !Session::is_in_list(node, only)) leave_out();
  if (engine::mode() != Mode::Armed && engine::t_stream) return;
  const bool was_inside = std::exchange(t_inside, true);
  const Spin spin(&g_becoming);
  const auto place = place_of(domain, node);
  if (!place) {
    const std::string name = "node " + std::to_string(node) + " of domain " + std::to_string(domain);
    if (session.configuration().mode == Mode::Replay) session.give_up(name + " was no process or thread of its own in the recorded run");
    if (engine::mode() == Mode::Armed) session.decline(name + " was initialized by two processes, and only the first is recorded");
    else session.note("not-replayable", name + " was initialized by two threads");
  } else {
    if (engine::on_main_thread()) session.follow_main_thread();
    if (engine::mode() == Mode::Armed) attach_process(place->rank);
    if (!engine::on_main_thread() && engine::mode() != Mode::Passive) threads::follow_running_thread(place->thread);
  }
  t_inside = was_inside;
}

void is_node_now(mcapi_domain_t domain, mcapi_node_t node) {
  Session& session = Session::get();
  const engine::Configuration& settings = session.configuration();
  t_simulated = engine::mode() == Mode::Replay && !settings.only_nodes.empty();
  if (engine::mode() != Mode::Record) return;
  t_keeps_values = session.records_data() && Session::is_in_list(node, settings.data_nodes);
  const std::uint32_t thread = engine::t_stream ? engine::t_stream->number : 0;
  session.append_note("node", std::to_string(domain) + ":" + std::to_string(node) + ":" + std::to_string(thread) + ":" + name_of(known_by()) +
                                  (t_keeps_values ? ":values" : ""));
}

}  // namespace reprise::mcapi
