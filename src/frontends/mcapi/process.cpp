#include "frontends/mcapi/process.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>

#include "engine/supervision.hpp"
#include "frontends/mcapi/call.hpp"
#include "frontends/mcapi/identity.hpp"

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

// A line of the file `nodes` for each process that became a rank: its first node, and the rank. Rank 0 is the program that was started,
// where that can have nodes itself.
std::string entry(mcapi_domain_t domain, mcapi_node_t node) { return std::to_string(domain) + ":" + std::to_string(node) + "\t"; }

std::optional<std::uint32_t> listed_rank(const std::string& list, const std::string& wanted) {
  for (const std::string_view line : engine::split(list, '\n')) {
    std::uint32_t rank = 0;
    if (line.starts_with(wanted) && engine::parse_number(line.substr(wanted.size()), rank)) return rank;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> new_rank(int file, const std::string& name) {
  while (flock(file, LOCK_EX) != 0)
    if (errno != EINTR) return std::nullopt;
  const std::string list = read_all(file);
  if (listed_rank(list, name)) return std::nullopt;  // its name was another process's: one log cannot hold both
  const auto rank = static_cast<std::uint32_t>(1 + std::count(list.begin(), list.end(), '\n'));
  const std::string line = name + std::to_string(rank) + "\n";
  const bool written = write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  return written ? std::optional(rank) : std::nullopt;
}

std::optional<std::uint32_t> rank_of(mcapi_domain_t domain, mcapi_node_t node) {
  const engine::Configuration& settings = Session::get().configuration();
  const bool recording = settings.mode == Mode::Record;
  const std::string path = settings.directory + "/nodes";
  const int file = open(path.c_str(), recording ? O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0644);
  if (file < 0) return std::nullopt;
  const auto rank = recording ? new_rank(file, entry(domain, node)) : listed_rank(read_all(file), entry(domain, node));
  close(file);
  return rank;
}

// Whoever waits for its end goes on.
[[noreturn]] void leave_out() {
  if (engine::mode() == Mode::Armed || !engine::t_stream || engine::t_stream->number == 0) _exit(0);
  Session::get().is_left_out();
  t_inside = false;
  pthread_exit(nullptr);
}

}  // namespace

void become_rank(mcapi_domain_t domain, mcapi_node_t node) {
  if (t_inside) return;
  Session& session = Session::get();
  const std::string& only = session.configuration().only_nodes;
  if (!only.empty() && !Session::is_in_list(node, only)) leave_out();
  if (engine::mode() != Mode::Armed) return;
  const bool was_inside = std::exchange(t_inside, true);
  const auto rank = rank_of(domain, node);
  if (!rank) {
    const std::string name = "node " + std::to_string(node) + " of domain " + std::to_string(domain);
    if (session.configuration().mode == Mode::Replay) session.give_up(name + " was no process of its own in the recorded run");
    session.decline(name + " was initialized by two processes, and only the first is recorded");
  } else {
    session.is_node(*rank);
    session.wake(frontends::all_functions());
    engine::Identity identity;
    identity.rank = *rank;
    identity.ranks = std::max(*rank + 1, session.configuration().ranks);
    identity.library = "mcapi";
    identity.thread_level = "none";
    session.attach(identity, {});
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
