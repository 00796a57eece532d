// Who may take which message: MPI's matching rules for all ranks of one run, and the choices that they leave.
//
// The ranks run until each is blocked; then what they have done is told to the matcher, rank by rank. It makes every
// match that is forced, answers the ranks that can go on, and, if none can, offers a choice: which message a receive
// from anybody takes, what a probe shows, which request a wait reports, whether a test says no. A run is determined by
// the options that were taken, so the search (search.hpp) only has to go through their numbers.
//
// The options of a choice exclude each other and together cover everything: a receive takes one of the messages that
// are there now, or none of these. In the latter case it *sleeps* on their senders: it will take a message of somebody
// else, who has not sent it yet. If nobody does, there was no such run, and it is discarded. So each match relation is
// visited once.
//
// Messages are late as they like; whether what was chosen fits together in time is checked apart (feasibility.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "explore/one_sided.hpp"

namespace reprise::explore {

// What a standard send does if nobody has asked for its message yet (MPI 4.0, 3.4).
enum class Buffering : std::uint8_t {
  None,      // it waits; collectives wait for everybody
  Infinite,  // it does not
  Mixed,     // each one as it likes
};

enum class SendMode : std::uint8_t { Standard, Synchronous, Buffered, Ready };

inline constexpr int kAnybody = -1;  // of a receive: any source
inline constexpr int kAnyTag = -1;

// Whose messages a receive or a probe wants. Ranks are those of MPI_COMM_WORLD.
struct Wanted {
  std::uint64_t comm = 0;
  int source = kAnybody;
  int tag = kAnyTag;
};

struct Message {
  int source = 0;
  int dest = 0;
  std::uint64_t comm = 0;
  int tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t data = 0;    // where its bytes lie; the matcher does not look at them
  std::uint32_t number = 0;  // which of its sender's messages it is, from 0
  bool standard = false;     // whether it is buffered is nobody's promise
  bool synchronous = false;
  bool optional = false;                // mixed buffering: it may or may not be
  bool stuck = false;                   // chosen: nobody ever takes it, and its sender waits for ever
  bool shown = false;                   // by a probe
  bool settled = false;                 // the order in time does not depend on it any more
  int taken_by = -1;                    // a receive
  std::uint32_t sent_at = 0;            // event
  std::uint32_t there_at = UINT32_MAX;  // event of its receiver before which it had come, as was seen
  std::uint64_t site = 0;
  std::uint32_t function = 0;
  std::uint32_t iteration = 0;  // how often its sender has sent from there before
  bool in_region = false;       // that the program wants to be explored
  std::uint64_t content = 0;    // a digest of its bytes, if anybody wants to know
};

struct Receive {
  int rank = 0;
  Wanted wanted;
  std::uint32_t posted_at = 0;  // event
  int took = -1;                // a message
  bool cancelled = false;
  std::optional<std::uint32_t> cancel_at;  // event: the program has asked for it
  std::optional<std::uint32_t> seen_at;    // event: the program has seen it complete
  std::vector<int> closed;                 // senders whose messages it will not take
  bool sleeps = false;                     // it will not take any that is there now
  bool takes = false;                      // and it will not be cancelled either
  bool may_be_cancelled = false;           // the program may yet do so, as long as it does not wait for it
  std::uint64_t site = 0;
  std::uint32_t function = 0;
  std::uint32_t iteration = 0;            // how often its rank has received there before
  bool in_region = false;                 // that the program wants to be explored
  std::optional<std::uint32_t> wildcard;  // which of its rank's receives and probes for anybody it is

  bool decided() const { return took >= 0 || cancelled; }
  bool asleep() const { return !decided() && sleeps; }
};

// One member's part in a collective.
struct Entrance {
  std::uint64_t comm = 0;
  std::uint64_t signature = 0;  // what all members must agree on
  std::uint32_t function = 0;   // the same in words: the call, and its root or another number that matters
  int detail = -1;
  std::vector<int> members;
  std::vector<int> needs;  // those whose contributions it cannot do without
  std::uint64_t data = 0;
  std::uint64_t site = 0;
};

using OperationId = std::uint32_t;  // of one rank

inline bool contains(const std::vector<int>& all, int one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

struct Question {
  enum class Kind : std::uint8_t {
    All,    // MPI_Wait, MPI_Waitall, and blocking calls
    Any,    // MPI_Waitany
    Some,   // MPI_Waitsome
    Probe,  // MPI_Probe
    Take,   // MPI_Mprobe
    Pause,  // no question of MPI: a thread of the rank waits for time to pass
  };
  Kind kind = Kind::All;
  bool may_say_no = false;  // MPI_Test and its like
  bool keeps = false;       // MPI_Request_get_status: what is reported stays
  std::vector<OperationId> operations;
  Wanted wanted;
  std::uint64_t site = 0;
  std::uint32_t function = 0;
  std::uint32_t iteration = 0;            // how often the rank has asked there before
  bool in_region = false;                 // that the program wants to be explored
  std::optional<std::uint32_t> wildcard;  // as of a receive
  bool looks_only = false;                // Reprise itself wants to know: the truth, and nothing follows from it
};

// What a rank is told about one of its operations, or about a message that a probe has found.
struct Report {
  std::uint32_t index = 0;  // in the question
  OperationId operation = 0;
  int source = -1;  // -1: it was no receive, or cancelled
  int tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t data = 0;
  bool cancelled = false;
  std::vector<std::uint64_t> contributions;  // of a collective, by member
};

struct Answer {
  int rank = 0;
  std::uint32_t thread = 0;
  bool yes = true;
  std::vector<Report> reports;
  OperationId taken = 0;  // Take: the operation that stands for the message from now on
};

// One way to go on. What it means depends on its kind.
struct Option {
  enum class Kind : std::uint8_t { Take, Sleep, Cancelled, Show, Report, No, Buffered, Stuck, Dead, Turn };
  Kind kind = Kind::Take;
  int message = -1;
  std::vector<std::uint32_t> reported;  // indices in the question
  int item = -1;                        // whose turn it is (OneSided)
};

struct Choice {
  enum class About : std::uint8_t { Receive, Question, Send, Turn };
  About about = About::Receive;
  int rank = 0;
  int subject = -1;  // a receive, a message, an item of OneSided, or which of the rank's questions
  std::vector<Option> options;
  bool may_wait = false;  // OneSided::Turn
};

// Two members that do not do the same.
struct Mismatch {
  int first = 0;  // members
  int second = 0;
};

class Matcher {
 public:
  // `cancelled_sites`: receives posted there are sometimes cancelled. And places where one-sided turns are chosen.
  Matcher(int ranks, Buffering buffering, std::uint32_t poll_bound, std::set<std::uint64_t> cancelled_sites = {});

  // -- what the ranks do, each in its own order --
  void send(int rank, OperationId id, Message message, SendMode mode);
  void receive(int rank, OperationId id, const Wanted& wanted, std::uint64_t site, std::uint32_t function,
               bool in_region = false);
  void cancel(int rank, OperationId id);
  void enter(int rank, OperationId id, Entrance entrance);
  void add_one_sided(int rank, OperationId id, OneSidedItem item);
  OneSided& one_sided() { return one_sided_; }
  const OneSided& one_sided() const { return one_sided_; }
  // Accesses to windows that are to be carried out before settle().
  std::vector<int> due_accesses() const { return one_sided_.used() ? one_sided_.due(wanted_items()) : std::vector<int>(); }
  // Each thread of a rank may ask something.
  void ask(int rank, Question question, std::uint32_t thread = 0);
  void ended(int rank);  // it has called MPI_Finalize, or is gone: nothing will come from there

  // Makes every forced match. Those that can go on.
  std::vector<Answer> settle();
  // After settle() has answered nobody. None: nobody can ever go on.
  std::optional<Choice> next_choice();
  // The answers that follow at once, if any; otherwise settle() has something to do.
  std::vector<Answer> apply(const Choice& choice, const Option& option);
  // Nobody can go on, but these only poll: they are told "no" once more. And time passes for those who wait for that.
  std::vector<Answer> refuse_polls();
  // Only the latter.
  std::vector<Answer> let_time_pass();

  // Was there such a run? To be asked at its end.
  bool is_possible();
  // The same in the middle of it.
  bool is_possible_so_far() const;
  // Somebody waits for what was chosen and has not come yet.
  bool anybody_asleep() const;
  bool cut_by_poll_bound() const { return cut_by_poll_bound_; }
  // MPI_Waitsome could report more sets than are tried.
  bool cut_sets() const { return cut_sets_; }
  // Receives that were decided too early: they were posted at these places and cancelled later. The search must begin
  // anew, with this knowledge.
  std::set<std::uint64_t> decided_too_early() const;
  const std::optional<Mismatch>& mismatch() const { return mismatch_; }

  int ranks() const { return static_cast<int>(ranks_.size()); }
  // What the threads of a rank wait for.
  struct Open {
    std::uint32_t thread = 0;
    const Question* question = nullptr;
  };
  std::vector<Open> questions(int rank) const;
  const Question* question(int rank, int number) const {
    return &at(rank).askers[static_cast<std::size_t>(number)].question;
  }
  // How many questions it has asked.
  std::uint32_t asked_by(int rank) const { return at(rank).asked; }
  // Which of its rank's receives and probes for anybody a choice is about.
  std::optional<std::uint32_t> wildcard_number(const Choice& choice) const;
  // A digest of what a rank has done and heard so far. Ranks with the same one are in the same state, as far as one can
  // see.
  std::uint64_t history_of(int rank) const { return at(rank).history; }
  bool asks(int rank) const;
  bool has_ended(int rank) const { return at(rank).ended; }
  const std::vector<Message>& messages() const { return messages_; }
  const std::vector<Receive>& receives() const { return receives_; }
  // Receives of a rank in the order in which they were posted.
  const std::vector<int>& receives_of(int rank) const { return at(rank).receives; }
  // Messages to a rank that nobody has taken, and receives that have got nothing.
  const std::vector<int>& inbox_of(int rank) const { return at(rank).inbox; }
  const std::vector<int>& pending_of(int rank) const { return at(rank).pending; }
  // What an operation of a rank is: for reports.
  struct Operation {
    enum class Kind : std::uint8_t { Send, Receive, Collective, OneSided } kind = Kind::Send;
    int index = -1;
    bool seen = false;  // the program knows that it is complete (MPI_Request_get_status)
  };
  const Operation* operation(int rank, OperationId id) const;
  bool is_complete(const Operation& operation) const;
  // Or would be, if everything were buffered?
  bool is_complete_if_buffered(const Operation& operation) const;
  struct Member {
    int rank = 0;
    Entrance entrance;
    std::uint32_t entered_at = 0;
    std::size_t collective = 0;
  };
  const std::vector<Member>& members() const { return members_; }
  const Member& member(int index) const { return members_[static_cast<std::size_t>(index)]; }
  // Of a collective that has begun: who has not come.
  std::vector<int> missing(int member) const;

 private:
  friend class Feasibility;

  // A probe that said no.
  struct Look {
    std::uint32_t event = 0;
    Wanted wanted;
  };
  // A thread of a rank, and its question. That may sleep on senders, or on what could be reported now; it may have been
  // decided that it will not say no, or that it never returns.
  struct Asker {
    int rank = 0;
    std::uint32_t thread = 0;
    bool asks = false;
    Question question;
    std::vector<int> closed;
    std::vector<bool> excluded;
    bool sleeps = false;
    bool will_say_yes = false;
    bool dead = false;

    bool probes() const { return question.kind == Question::Kind::Probe || question.kind == Question::Kind::Take; }
  };
  struct Rank {
    bool ended = false;
    std::vector<Asker> askers;
    std::vector<int> receives;  // all, in order
    std::vector<int> pending;   // those that are undecided
    std::vector<int> inbox;     // messages to this rank that nobody has taken, in the order of each sender
    // What the order in time still depends on (feasibility.hpp): receives and messages that are not settled.
    std::vector<int> live_receives;
    std::vector<int> seen_receives;  // of these, those that the program has seen complete, the oldest first
    std::vector<int> live_mail;
    std::vector<Look> refused_looks;
    std::unordered_map<OperationId, Operation> operations;
    std::uint32_t events = 0;
    std::uint32_t past = 0;  // of these, how many the order in time does not depend on any more
    std::uint32_t sends = 0;
    std::uint32_t asked = 0;
    std::uint32_t wildcards = 0;
    std::uint64_t history = 0;
    std::unordered_map<std::uint64_t, std::uint32_t> iterations;  // call site -> how often it was there
    OperationId taken = 0x80000000u;                              // numbers for what MPI_Mprobe takes
    std::unordered_map<std::uint64_t, std::uint32_t> refusals;    // thread and call site -> polls that said no in a row
    std::unordered_map<std::uint64_t, std::uint32_t> collectives;  // communicator -> how many it has entered
  };
  struct Collective {
    std::vector<int> members;  // indices into members_
  };
  // Something that another rank than its receiver has seen: the message had come before this event of it.
  struct Evidence {
    int message = -1;
    int rank = 0;
    std::uint32_t event = 0;
  };
  struct Precedence {
    int earlier_rank = 0;
    std::uint32_t earlier = 0;
    int later_rank = 0;
    std::uint32_t later = 0;
  };

  Asker& asker_of(const Choice& choice) { return at(choice.rank).askers[static_cast<std::size_t>(choice.subject)]; }
  const Asker& asker_of(const Choice& choice) const {
    return at(choice.rank).askers[static_cast<std::size_t>(choice.subject)];
  }
  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  const Rank& at(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  Message& mail(int message) { return messages_[static_cast<std::size_t>(message)]; }
  const Message& mail(int message) const { return messages_[static_cast<std::size_t>(message)]; }
  Receive& at_receive(int receive) { return receives_[static_cast<std::size_t>(receive)]; }
  const Receive& at_receive(int receive) const { return receives_[static_cast<std::size_t>(receive)]; }

  static bool accepts(const Wanted& wanted, const Message& message);
  // Of each sender the first message that fits, unless that sender is closed, or the message could still go to a
  // receive that was posted before (the first `earlier` of those that are pending). `takes`: what is stuck can be
  // shown, but not taken.
  std::vector<int> candidates(int rank, const Wanted& wanted, const std::vector<int>& closed, std::size_t earlier,
                              bool takes) const;
  // Could one of the first `earlier` pending receives have it?
  bool is_contested(const Rank& who, const Message& message, std::size_t earlier) const;
  void take(int receive, int message);
  bool force_receives(int rank);
  bool may_be_complete(const Operation& operation) const;
  bool is_collective_complete(const Member& member, bool with_everybody) const;
  bool is_active(const Rank& rank, OperationId id) const { return rank.operations.contains(id); }
  std::optional<Answer> forced_answer(Asker& asker);
  Answer look(Asker& asker);
  Report report_on(const Operation& operation) const;
  Answer answer(Asker& asker, std::vector<std::uint32_t> reported);
  Answer answer_no(Asker& asker);
  Answer answer_probe(Asker& asker, int message);
  std::uint32_t new_event(int rank) { return at(rank).events++; }
  void remember(int rank, std::initializer_list<std::uint64_t> what);
  void was_there(int message, std::uint32_t event);
  void saw_receive(int receive, std::uint32_t event);
  bool concerns_others(int receive) const;
  void settle_receive(int receive);
  void forget_past();
  static std::uint64_t place_of_poll(const Asker& asker);
  bool polls_too_long(const Asker& asker) const;
  bool may_refuse(const Asker& asker) const {
    return asker.question.may_say_no && !asker.will_say_yes && !polls_too_long(asker);
  }

  bool wants_what_earlier_could_have(int rank, std::size_t place) const;
  void add_receive_choices(int rank, std::vector<Choice>& all) const;
  std::optional<Choice> question_choice(int rank, int number) const;
  std::vector<std::uint32_t> ready(const Asker& asker) const;
  std::vector<int> wanted_items() const;
  void add_turn_choices(std::vector<Choice>& all) const;
  bool could_come(const Choice& choice) const;
  bool waits_for(int rank, int receive) const;
  // It need not be decided yet.
  bool is_unsettled(int receive) const;
  bool wanted_by_others(const Choice& choice) const;
  void drop_impossible(Choice& choice);

  Buffering buffering_;
  std::uint32_t poll_bound_;
  std::set<std::uint64_t> cancelled_sites_;
  std::set<std::uint64_t> decided_too_early_;
  std::vector<Rank> ranks_;
  std::vector<Message> messages_;
  std::vector<Receive> receives_;
  std::vector<Member> members_;
  std::unordered_map<std::uint64_t, Collective> collectives_;  // digest of communicator and number
  std::vector<Evidence> evidence_;
  std::vector<Precedence> precedences_;
  OneSided one_sided_;
  std::optional<Mismatch> mismatch_;
  bool cut_by_poll_bound_ = false;
  mutable bool cut_sets_ = false;
  bool needs_check_ = false;
  std::size_t kept_size_ = 0;  // of what a check looked at when the past was forgotten last
};

}  // namespace reprise::explore
