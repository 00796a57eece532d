#include "analyze/thread_deadlock.hpp"

#include <algorithm>
#include <map>

#include "base/text.hpp"

namespace reprise::analyze {
namespace {

// The fields of a note. The path comes last, and may contain anything.
class Fields {
 public:
  explicit Fields(std::string_view text) : rest_(text) {}

  std::string next() {
    const auto end = rest_.find('|');
    const std::string field(rest_.substr(0, end));
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return field;
  }
  std::uint64_t number() { return parse_number(next()).value_or(0); }
  std::uint32_t thread() { return static_cast<std::uint32_t>(number()); }
  std::string site(SourceLines& lines) {
    const std::uint64_t offset = number();
    const std::string build_id = next();
    return rest_.empty() ? "" : lines.find(std::string(rest_), build_id, offset).text();
  }

 private:
  std::string_view rest_;
};

// Locks and conditions have no names of their own.
class Names {
 public:
  char of(const std::string& object) {
    const auto letter = static_cast<char>('A' + std::min<std::size_t>(names_.size(), 25));
    return names_.try_emplace(object, letter).first->second;
  }

 private:
  std::map<std::string, char> names_;
};

ThreadDeadlock::Thread* find_thread(ThreadDeadlock& deadlock, std::uint32_t number) {
  const auto at = std::find_if(deadlock.stuck.begin(), deadlock.stuck.end(),
                               [&](const ThreadDeadlock::Thread& one) { return one.number == number; });
  return at == deadlock.stuck.end() ? nullptr : &*at;
}

void add_wait(ThreadDeadlock& deadlock, Names& names, Fields fields, SourceLines& lines) {
  ThreadDeadlock::Thread thread;
  thread.number = fields.thread();
  thread.function = fields.next();
  thread.address = fields.next();
  if (thread.function != "pthread_join") thread.object = names.of(thread.address);
  const std::string holder = fields.next();
  if (const auto number = parse_number(holder)) thread.waits_for = static_cast<std::uint32_t>(*number);
  thread.at = fields.site(lines);
  deadlock.stuck.push_back(std::move(thread));
}

void add_held(ThreadDeadlock& deadlock, Names& names, Fields fields, SourceLines& lines) {
  ThreadDeadlock::Thread* const thread = find_thread(deadlock, fields.thread());
  if (!thread) return;
  const char name = names.of(fields.next());
  thread->holds.push_back({name, fields.site(lines)});
}

void add_signal(ThreadDeadlock& deadlock, Fields fields, SourceLines& lines) {
  const std::string object = fields.next();
  ThreadDeadlock::Signal signal;
  signal.thread = fields.thread();
  signal.before = fields.next() == "before";
  signal.at = fields.site(lines);
  for (ThreadDeadlock::Thread& thread : deadlock.stuck)
    if (thread.function == "pthread_cond_wait" && thread.address == object) thread.signal = signal;
}

}  // namespace

bool ThreadDeadlock::waits_for_condition() const {
  return std::any_of(stuck.begin(), stuck.end(), [](const Thread& one) { return one.function == "pthread_cond_wait"; });
}

std::vector<ThreadDeadlock> read_deadlocks(const std::vector<DeadlockNote>& notes, SourceLines& lines) {
  std::vector<ThreadDeadlock> found;
  std::vector<Names> names;
  std::map<std::uint32_t, std::size_t> current;  // rank -> the report that its next note belongs to
  for (const DeadlockNote& note : notes) {
    Fields fields(note.text);
    const std::string kind = fields.next();
    if (kind == "stuck") {
      current[note.rank] = found.size();
      ThreadDeadlock deadlock;
      deadlock.rank = note.rank;
      fields.next();
      deadlock.threads = fields.number();
      deadlock.ended = fields.next() == "ended";
      found.push_back(std::move(deadlock));
      names.emplace_back();
      continue;
    }
    const auto at = current.find(note.rank);
    if (at == current.end()) continue;
    ThreadDeadlock& deadlock = found[at->second];
    if (kind == "waits") add_wait(deadlock, names[at->second], fields, lines);
    if (kind == "holds") add_held(deadlock, names[at->second], fields, lines);
    if (kind == "signalled") add_signal(deadlock, fields, lines);
  }
  return found;
}

}  // namespace reprise::analyze
