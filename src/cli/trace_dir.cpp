#include "cli/trace_dir.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "base/text.hpp"
#include "cli/speech.hpp"
#include "trace/format.hpp"

namespace reprise::cli {

namespace {

constexpr int kAttempts = 1000;  // when several records start in one directory at the same moment

void for_each_entry(int dir_fd, const std::function<void(std::string_view)>& visit) {
  const int again = ::openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const directory = again < 0 ? nullptr : ::fdopendir(again);
  if (!directory) {
    if (again >= 0) ::close(again);
    return;
  }
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") visit(name);
  }
  ::closedir(directory);
}

UniqueFd open_directory(const std::string& path, int flags = 0) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
}

std::string absolute_path(const std::string& path) {
  char real[PATH_MAX];
  if (!::realpath(path.c_str(), real)) fail("cannot resolve {}: {}", path, error_text(errno));
  return real;
}

std::string link_target(const std::string& link) {
  char target[NAME_MAX + 1];
  const ssize_t size = ::readlink(link.c_str(), target, sizeof target);
  return size <= 0 ? "" : std::string(target, static_cast<std::size_t>(size));
}

std::string latest_link() { return fmt::format("{}/latest", kTraceHome); }

void link_latest(const std::string& target) {
  const UniqueFd home = open_directory(kTraceHome);
  if (!home) return;
  const std::string temporary = fmt::format(".latest-{}", ::getpid());
  ::unlinkat(home.get(), temporary.c_str(), 0);
  if (::symlinkat(target.c_str(), home.get(), temporary.c_str()) != 0 ||
      ::renameat(home.get(), temporary.c_str(), home.get(), "latest") != 0)
    say("could not update {}/latest: {}", kTraceHome, error_text(errno));
}

NewTrace finish(std::string path, bool in_home, bool created) {
  NewTrace trace;
  trace.fd = open_directory(path);
  if (!trace.fd) fail("cannot open {}: {}", printable(path), error_text(errno));
  trace.absolute = absolute_path(path);
  trace.path = std::move(path);
  trace.in_home = in_home;
  if (in_home) trace.latest_before = link_target(latest_link());
  trace.created = created;
  return trace;
}

// "rank-12.log" -> 12
std::optional<std::uint32_t> rank_of(std::string_view name) {
  if (!name.starts_with("rank-") || !name.ends_with(".log")) return std::nullopt;
  name = name.substr(5, name.size() - 9);
  const auto rank = parse_number(name);
  if (!rank || *rank >= trace::kMaxRanks || std::to_string(*rank) != name) return std::nullopt;
  return static_cast<std::uint32_t>(*rank);
}

// The name that reprise.d/latest points at: a sibling and nothing else, whoever made the link.
std::string latest_trace() {
  const std::string name = link_target(latest_link());
  if (name.empty()) fail("there is no trace in ./{}; record one: reprise record -- mpirun -n 4 ./app", kTraceHome);
  if (name.find('/') != std::string::npos || name == ".." || name == "." || name.size() > NAME_MAX)
    fail("{} points out of its directory; name the trace instead", latest_link());
  return std::string(kTraceHome) + '/' + name;
}

}  // namespace

NewTrace make_trace_directory(const std::string& wanted, const std::string& name) {
  if (!wanted.empty()) {
    if (::mkdir(wanted.c_str(), 0777) == 0) return finish(wanted, false, true);
    if (errno != EEXIST) fail("cannot make {}: {}", printable(wanted), error_text(errno));
    const UniqueFd existing = open_directory(wanted);
    if (!existing) fail("{} exists and is not a directory", printable(wanted));
    bool empty = true;
    for_each_entry(existing.get(), [&](std::string_view) { empty = false; });
    if (!empty) fail("{} is not empty; a trace is never overwritten, choose another directory", printable(wanted));
    return finish(wanted, false, false);
  }
  if (::mkdir(kTraceHome, 0777) != 0 && errno != EEXIST)
    fail("cannot make ./{}: {}; choose another place with -o DIR", kTraceHome, error_text(errno));
  const UniqueFd home = open_directory(kTraceHome);
  if (!home) fail("./{} is not a directory; choose another place with -o DIR", kTraceHome);
  std::uint64_t last = 0;
  for_each_entry(home.get(), [&](std::string_view entry) {
    if (!entry.starts_with(name + '-')) return;
    if (const auto number = parse_number(entry.substr(name.size() + 1)); number && *number < 1000000000)
      last = std::max(last, *number);
  });
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    std::string path = fmt::format("{}/{}-{}", kTraceHome, name, last + static_cast<std::uint64_t>(attempt));
    if (::mkdir(path.c_str(), 0777) == 0) return finish(std::move(path), true, true);
    if (errno != EEXIST) fail("cannot make {}: {}; choose another place with -o DIR", path, error_text(errno));
  }
  fail("cannot find an unused name for a trace in ./{}", kTraceHome);
}

void set_latest(const NewTrace& trace) {
  if (trace.in_home) link_latest(std::string(base_name(trace.path)));
}

void discard(const NewTrace& trace) {
  ::unlinkat(trace.fd.get(), "manifest.json", 0);
  ::unlinkat(trace.fd.get(), "exits", 0);
  ::unlinkat(trace.fd.get(), "notes", 0);
  ::unlinkat(trace.fd.get(), "room", 0);
  if (trace.created) ::rmdir(trace.absolute.c_str());
  if (trace.in_home && link_target(latest_link()) == base_name(trace.path)) {
    if (trace.latest_before.empty()) ::unlink(latest_link().c_str());
    else link_latest(trace.latest_before);
  }
  if (trace.in_home) ::rmdir(kTraceHome);  // only if it is empty now
}

namespace {

// What `explore` leaves holds one trace per failing order: if there is only one, it is meant.
std::string only_order_in(const std::string& path) {
  const UniqueFd directory = open_directory(path);
  struct stat info {};
  if (!directory || ::fstatat(directory.get(), "manifest.json", &info, AT_SYMLINK_NOFOLLOW) == 0) return path;
  std::vector<std::string> orders;
  for_each_entry(directory.get(), [&](std::string_view entry) {
    if (entry.starts_with("order-") && parse_number(entry.substr(6))) orders.emplace_back(entry);
  });
  if (orders.empty()) return path;
  std::sort(orders.begin(), orders.end());
  if (orders.size() > 1)
    fail("{} holds {} failing orders; name one, for example {}/{}", printable(path), orders.size(), printable(path),
         orders[0]);
  return path + '/' + orders[0];
}

}  // namespace

OpenTrace open_trace(const std::string& argument) {
  OpenTrace trace;
  trace.path = argument.empty() ? latest_trace() : argument;
  while (trace.path.size() > 1 && trace.path.back() == '/') trace.path.pop_back();
  trace.path = only_order_in(trace.path);
  trace.files = trace.path;
  if (!argument.empty() && is_bundle(trace.path)) {
    trace.unpacked.emplace(unpack_bundle(trace.path));
    trace.files = trace.unpacked->path();
  }
  trace.fd = open_directory(trace.files, argument.empty() ? O_NOFOLLOW : 0);
  if (!trace.fd) fail("cannot open the trace {}: {}", printable(trace.path), error_text(errno));
  struct stat info {};
  if (::fstatat(trace.fd.get(), "manifest.json", &info, AT_SYMLINK_NOFOLLOW) != 0)
    fail("{} is not a trace: it has no manifest.json", printable(trace.path));
  auto manifest = trace::read_manifest(trace.fd.get());
  if (!manifest) fail("{}: {}", printable(trace.path), manifest.error().what);
  trace.manifest = std::move(*manifest);
  trace.ranks = ranks_with_logs(trace.fd.get());
  return trace;
}

std::vector<std::uint32_t> ranks_with_logs(int dir_fd) {
  std::vector<std::uint32_t> ranks;
  for_each_entry(dir_fd, [&](std::string_view name) {
    if (const auto rank = rank_of(name)) ranks.push_back(*rank);
  });
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::vector<std::string> trace_files(int dir_fd) {
  std::vector<std::string> names;
  for_each_entry(dir_fd, [&](std::string_view name) { names.emplace_back(name); });
  return names;
}

std::uint64_t trace_size(int dir_fd) {
  std::uint64_t total = 0;
  for_each_entry(dir_fd, [&](std::string_view name) {
    struct stat info {};
    if (::fstatat(dir_fd, std::string(name).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode))
      total += static_cast<std::uint64_t>(info.st_size);
  });
  return total;
}

}  // namespace reprise::cli
