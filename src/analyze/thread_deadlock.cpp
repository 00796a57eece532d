#include "analyze/thread_deadlock.hpp"

#include <algorithm>
#include <map>

#include "analyze/note_fields.hpp"
#include "base/text.hpp"

namespace reprise::analyze {
namespace {

std::uint32_t read_thread(NoteFields& fields) { return static_cast<std::uint32_t>(fields.number()); }

std::string read_site(NoteFields& fields, SourceLines& lines) {
  const SourceLine* const line = fields.site(lines);
  return line ? line->text() : "";
}

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

void add_wait(ThreadDeadlock& deadlock, Names& names, NoteFields fields, SourceLines& lines) {
  ThreadDeadlock::Thread thread;
  thread.number = read_thread(fields);
  thread.function = fields.next();
  thread.address = fields.next();
  if (thread.function != "pthread_join") thread.object = names.of(thread.address);
  const std::string holder = fields.next();
  if (const auto number = parse_number(holder)) thread.waits_for = static_cast<std::uint32_t>(*number);
  thread.at = read_site(fields, lines);
  deadlock.stuck.push_back(std::move(thread));
}

void add_held(ThreadDeadlock& deadlock, Names& names, NoteFields fields, SourceLines& lines) {
  ThreadDeadlock::Thread* const thread = find_thread(deadlock, read_thread(fields));
  if (!thread) return;
  const char name = names.of(fields.next());
  thread->holds.push_back({name, read_site(fields, lines)});
}

void add_signal(ThreadDeadlock& deadlock, NoteFields fields, SourceLines& lines) {
  const std::string object = fields.next();
  ThreadDeadlock::Signal signal;
  signal.thread = read_thread(fields);
  signal.before = fields.next() == "before";
  signal.at = read_site(fields, lines);
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
    NoteFields fields(note.text);
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
