#include "explore/run.hpp"

#include "explore/private_files.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace reprise::explore {

using virtual_world::Act;
using virtual_world::as_number;
using virtual_world::as_word;
using virtual_world::Seat;
using virtual_world::SeatState;
using virtual_world::ServerState;

namespace {

constexpr std::uint32_t kMakesRoom = 0xfffffffeu;  // in place of a thread's number
static_assert(static_cast<std::uint64_t>(Question::Kind::Pause) == virtual_world::kPauses);

constexpr std::uint32_t kIdlePauses =
    20;  // how often time passes for those who pause, before whoever sleeps is given up
constexpr std::uint32_t kIdlePolls = 1000;  // how often pollers are told "no" before that is called for ever

std::uint64_t mix(std::uint64_t digest, std::uint64_t word) {
  digest = (digest ^ word) * 0x9e3779b97f4a7c15ull;
  return digest ^ digest >> 29;
}

std::uint32_t function_of(std::uint64_t word) {
  return static_cast<std::uint32_t>(word & (virtual_world::kInRegion - 1));
}

bool is_in_region(std::uint64_t word, RunResult& result) {
  const bool is = (word & virtual_world::kInRegion) != 0;
  result.has_regions |= is;
  return is;
}

// Of a message: its label (frontends/mpi/live) and its bytes.
std::uint64_t contents(const char* at, std::uint64_t bytes) {
  std::uint64_t runs = 0;
  std::memcpy(&runs, at + 16, sizeof runs);
  const std::uint64_t all = 8 * (3 + 2 * (runs >> 1)) + bytes;
  std::uint64_t digest = all;
  for (std::uint64_t i = 0; i < all; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at + i, std::min<std::uint64_t>(8, all - i));
    digest = mix(digest, word);
  }
  return digest;
}

template <class Word>
void put_string(char (&to)[1024], const Word& text) {
  const std::size_t size = std::min(text.size(), sizeof to - 1);
  std::memcpy(to, text.data(), size);
  to[size] = '\0';
}

}  // namespace

Run::Run(virtual_world::Stage* stage, const RunOptions& options)
    : stage_(stage),
      options_(options),
      matcher_(static_cast<int>(stage->ranks), options.buffering, options.poll_bound, options.cancelled_sites),
      ends_(stage->ranks),
      locked_(stage->ranks),
      waiting_(stage->ranks) {}

// --- the ranks -------------------------------------------------------------------------------------------------------

void Run::begin() {
  for (std::uint32_t rank = 0; rank < stage_->ranks; ++rank) {
    Seat& seat = stage_->seats[rank];
    seat.state.store(static_cast<std::uint32_t>(SeatState::Acts), std::memory_order_relaxed);
    seat.script_words = 0;
    seat.pid = 0;
    seat.function.store(0, std::memory_order_relaxed);
    seat.caller.store(0, std::memory_order_relaxed);
  }
  stage_->keeps_output = !options_.output.empty();
  stage_->records = !options_.trace.empty();
  stage_->trace_id = options_.trace_id;
  stage_->disturbed = options_.disturbed;
  put_string(stage_->output, options_.output);
  put_string(stage_->directory, options_.trace);
  put_string(stage_->files, options_.files);
  stage_->acting.store(stage_->ranks, std::memory_order_relaxed);
  stage_->server.store(static_cast<std::uint32_t>(ServerState::Begin), std::memory_order_release);
  futex_wake(stage_->server, 1);
}

// Until every rank waits or has ended. False: one takes too long.
bool Run::await_quiescence(RunResult& result) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + options_.step_timeout;
  for (;;) {
    const std::uint32_t acting = stage_->acting.load(std::memory_order_acquire);
    if (acting == 0) return true;
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now()).count();
    if (left <= 0) break;
    const std::timespec timeout{static_cast<std::time_t>(left / 1'000'000'000),
                                static_cast<long>(left % 1'000'000'000)};
    futex_wait(stage_->acting, acting, &timeout);
  }
  Problem problem{Category::Stalled, {}, 0, "", false};
  for (std::uint32_t rank = 0; rank < stage_->ranks; ++rank) {
    const Seat& seat = stage_->seats[rank];
    if (seat.state.load() != static_cast<std::uint32_t>(SeatState::Acts)) continue;
    problem.places.push_back(
        {static_cast<int>(rank), 0, seat.caller.load(), static_cast<std::uint32_t>(seat.function.load()), "", 0});
  }
  result.problems.push_back(std::move(problem));
  return false;
}

void Run::note_end(int rank, RunResult& result) {
  RankEnd& end = ends_[static_cast<std::size_t>(rank)];
  if (end.over) return;
  end.over = true;
  end.wait_status = stage_->seats[rank].wait_status;
  waiting_[static_cast<std::size_t>(rank)] = false;
  locked_[static_cast<std::size_t>(rank)].clear();
  matcher_.ended(rank);
  const int status = end.wait_status;
  if (WIFSIGNALED(status)) {
    result.problems.push_back(
        {Category::Crash, {place_of(rank)}, WTERMSIG(status), strsignal(WTERMSIG(status)), false});
    fatal_ = true;
  } else if (WEXITSTATUS(status) != 0) {
    const bool aborted = std::any_of(result.problems.begin(), result.problems.end(), [&](const Problem& problem) {
      return (problem.category == Category::Abort || problem.category == Category::MpiError) &&
             problem.places[0].rank == rank;
    });
    if (!aborted)
      result.problems.push_back({Category::Failure,
                                 {place_of(rank)},
                                 WEXITSTATUS(status),
                                 fmt::format("exit status {}", WEXITSTATUS(status)),
                                 false});
    if (!end.finished) fatal_ = true;
  } else if (!end.finished) {
    result.problems.push_back({Category::NoFinalize, {place_of(rank)}, 0, "ended without MPI_Finalize", false});
  }
}

// Two threads of a rank in MPI at once, where it was told that there would be one at a time.
void Run::look_for_crowds(RunResult& result) const {
  constexpr std::uint32_t kOneAtATime = 2;  // MPI_THREAD_SERIALIZED, in both MPIs
  if (stage_->thread_level != kOneAtATime) return;
  for (int rank = 0; rank < matcher_.ranks(); ++rank) {
    Problem problem{Category::ThreadLevel, {}, 0, "two threads call MPI at the same time", false};
    for (const auto& [thread, question] : matcher_.questions(rank))
      if (question->kind != Question::Kind::Pause && question->site != 0)
        problem.places.push_back({rank, thread, question->site, question->function, "", 0});
    const bool is_known = std::any_of(result.problems.begin(), result.problems.end(), [&](const Problem& other) {
      return other.category == Category::ThreadLevel && other.places[0].rank == rank;
    });
    if (problem.places.size() > 1 && !is_known) result.problems.push_back(std::move(problem));
  }
}

void Run::read_scripts(RunResult& result) {
  for (int rank = 0; rank < matcher_.ranks(); ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    if (ends_[index].over || waiting_[index]) continue;
    locked_[index].clear();
    read_script(rank, result);
    const auto state = static_cast<SeatState>(stage_->seats[rank].state.load(std::memory_order_acquire));
    if (state == SeatState::Gone) note_end(rank, result);
    else waiting_[index] = true;
  }
}

void Run::read_script(int rank, RunResult& result) {
  Seat& seat = stage_->seats[rank];
  const std::uint64_t* at = virtual_world::script_of(stage_, rank);
  const std::uint64_t* const end = at + std::min<std::size_t>(seat.script_words, virtual_world::kScriptWords);
  seat.script_words = 0;
  while (at < end) {
    const auto act = static_cast<Act>(*at >> 32);
    const std::size_t count = *at & 0xffffffffu;
    const std::uint64_t* const words = at + 1;
    at += count + 1;
    if (at > end) return;
    switch (act) {
      case Act::Send: {
        Message message;
        message.comm = words[1];
        message.dest = as_number(words[2]);
        message.tag = as_number(words[3]);
        message.bytes = words[5];
        message.data = words[6];
        message.site = words[7];
        message.function = function_of(words[8]);
        message.in_region = is_in_region(words[8], result);
        if (options_.wants_contents && message.data != 0)
          message.content = contents(reinterpret_cast<const char*>(stage_) + message.data, message.bytes);
        matcher_.send(rank, static_cast<OperationId>(words[0]), message, static_cast<SendMode>(words[4]));
        break;
      }
      case Act::Receive:
        matcher_.receive(rank, static_cast<OperationId>(words[0]), {words[1], as_number(words[2]), as_number(words[3])},
                         words[4], function_of(words[5]), is_in_region(words[5], result));
        break;
      case Act::Cancel: matcher_.cancel(rank, static_cast<OperationId>(words[0])); break;
      case Act::Enter: {
        Entrance entrance;
        entrance.comm = words[1];
        entrance.signature = words[2];
        entrance.function = function_of(words[3]);
        entrance.detail = as_number(words[4]);
        entrance.data = words[5];
        entrance.site = words[6];
        for (std::uint64_t i = 0; i < words[7]; ++i) entrance.members.push_back(as_number(words[9 + i]));
        for (std::uint64_t i = 0; i < words[8]; ++i) entrance.needs.push_back(as_number(words[9 + words[7] + i]));
        matcher_.enter(rank, static_cast<OperationId>(words[0]), std::move(entrance));
        break;
      }
      case Act::Ask: {
        Question question;
        question.kind = static_cast<Question::Kind>(words[1]);
        question.may_say_no = (words[2] & virtual_world::kMaySayNo) != 0;
        question.keeps = (words[2] & virtual_world::kKeeps) != 0;
        question.looks_only = (words[2] & virtual_world::kOwnLook) != 0;
        question.wanted = {words[3], as_number(words[4]), as_number(words[5])};
        question.site = words[6];
        question.function = function_of(words[7]);
        question.in_region = is_in_region(words[7], result);
        for (std::size_t i = 8; i < count; ++i) question.operations.push_back(static_cast<OperationId>(words[i]));
        matcher_.ask(rank, std::move(question), static_cast<std::uint32_t>(words[0]));
        break;
      }
      case Act::Blocked: {
        Place place{rank,    static_cast<std::uint32_t>(words[0]), words[2], static_cast<std::uint32_t>(words[1]), "",
                    words[4]};
        if (const int holder = as_number(words[3]); holder >= 0)
          place.detail = fmt::format("{} thread {}", words[4] != 0 ? "held by" : "of", holder);
        locked_[static_cast<std::size_t>(rank)].push_back(std::move(place));
        break;
      }
      case Act::More: matcher_.ask(rank, {}, kMakesRoom); break;  // no operations: it goes on
      case Act::Abort:
        result.problems.push_back({Category::Abort,
                                   {{rank, 0, words[1], static_cast<std::uint32_t>(words[2]), "", 0}},
                                   as_number(words[0]),
                                   fmt::format("MPI_Abort with code {}", as_number(words[0])),
                                   false});
        fatal_ = true;
        matcher_.ended(rank);
        break;
      case Act::Error:
        result.problems.push_back({static_cast<Category>(words[0]),
                                   {{rank, 0, words[2], static_cast<std::uint32_t>(words[3]), "", 0}},
                                   as_number(words[1]),
                                   std::string(reinterpret_cast<const char*>(words + 4)),
                                   false});
        fatal_ = true;
        matcher_.ended(rank);
        break;
      case Act::Finding: {
        Problem problem{
            static_cast<Category>(words[0]), {}, 0, std::string(reinterpret_cast<const char*>(words + 7)), false};
        for (const std::uint64_t* place = words + 1; place < words + 7; place += 3)
          if (place[1] != 0 || place == words + 1)
            problem.places.push_back({as_number(place[0]) < 0 ? rank : as_number(place[0]), 0, place[1],
                                      static_cast<std::uint32_t>(place[2]), "", 0});
        result.problems.push_back(std::move(problem));
        break;
      }
      case Act::Window:
      case Act::Access:
      case Act::Lock:
      case Act::Unlock:
      case Act::Close:
      case Act::Stored: read_one_sided(rank, act, words, count, result); break;
      case Act::Finish:
        ends_[static_cast<std::size_t>(rank)].finished = true;
        matcher_.ended(rank);
        break;
    }
  }
}

// Ranks that get an answer go on; of their threads, those that it is for.
void Run::resume(const std::vector<Answer>& answers) {
  std::vector<std::vector<const Answer*>> by_rank(ends_.size());
  for (const Answer& answer : answers) by_rank[static_cast<std::size_t>(answer.rank)].push_back(&answer);
  const auto is_answered = [](const auto& all) { return !all.empty(); };
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
    if (is_answered(by_rank[rank])) reply(static_cast<int>(rank), by_rank[rank]);
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    if (!is_answered(by_rank[rank])) continue;
    waiting_[rank] = false;
    stage_->acting.fetch_add(1, std::memory_order_relaxed);
    Seat& seat = stage_->seats[rank];
    seat.state.store(static_cast<std::uint32_t>(SeatState::Acts), std::memory_order_release);
    futex_wake(seat.state, 1);
  }
}

void Run::reply(int rank, const std::vector<const Answer*>& answers) {
  std::uint64_t* to = virtual_world::reply_of(stage_, rank);
  const std::uint64_t* const end = to + virtual_world::kReplyWords;
  *to++ = answers.size();
  for (const Answer* const answer : answers) {
    *to++ = answer->thread;
    std::uint64_t* const size = to++;
    *to++ = answer->yes;
    *to++ = answer->taken;
    *to++ = answer->reports.size();
    for (const Report& report : answer->reports) {
      if (to + 16 + report.contributions.size() > end) break;
      *to++ = report.index;
      *to++ = as_word(report.source);
      *to++ = as_word(report.tag);
      *to++ = report.bytes;
      *to++ = report.data;
      *to++ = report.cancelled ? virtual_world::kCancelled : 0;
      *to++ = report.contributions.size();
      for (const std::uint64_t data : report.contributions) *to++ = data;
    }
    *size = static_cast<std::uint64_t>(to - size - 1);
  }
}

// Those that wait have no more to do; the others are killed. The server reaps them all.
void Run::dismiss() {
  for (std::uint32_t rank = 0; rank < stage_->ranks; ++rank) {
    Seat& seat = stage_->seats[rank];
    const auto state = static_cast<SeatState>(seat.state.load(std::memory_order_acquire));
    if (state == SeatState::Asks) {
      seat.state.store(static_cast<std::uint32_t>(SeatState::Leave), std::memory_order_release);
      futex_wake(seat.state, 1);
    } else if ((state == SeatState::Acts || state == SeatState::Serves) && seat.pid > 0) {
      ::kill(seat.pid, SIGKILL);
    }
  }
  const auto ready = static_cast<std::uint32_t>(ServerState::Ready);
  for (;;) {
    const std::uint32_t now = stage_->server.load(std::memory_order_acquire);
    if (now == ready || now == static_cast<std::uint32_t>(ServerState::Quit)) return;
    const std::timespec timeout{1, 0};
    futex_wait(stage_->server, now, &timeout);
    if (stage_->server_pid > 0 && ::kill(stage_->server_pid, 0) != 0) return;
  }
}

// --- the run ---------------------------------------------------------------------------------------------------------

std::uint64_t Run::digest_of(const Choice& choice) const {
  std::uint64_t digest = mix(static_cast<std::uint64_t>(choice.about), static_cast<std::uint64_t>(choice.rank));
  if (choice.about == Choice::About::Question) digest = mix(digest, static_cast<std::uint64_t>(choice.subject));
  for (const Option& option : choice.options) {
    digest = mix(digest, static_cast<std::uint64_t>(option.kind));
    if (option.message >= 0) {
      const Message& message = matcher_.messages()[static_cast<std::size_t>(option.message)];
      digest = mix(digest, static_cast<std::uint64_t>(message.source) << 32 | message.number);
      digest = mix(digest, message.bytes);
    }
    for (const std::uint32_t index : option.reported) digest = mix(digest, index);
    if (option.item >= 0) {
      const OneSidedItem& item = matcher_.one_sided().item(option.item);
      digest = mix(digest, static_cast<std::uint64_t>(item.rank) << 32 | item.number);
    }
  }
  return digest;
}

std::optional<std::uint32_t> Run::decide(const Choice& choice, const std::vector<std::uint32_t>& given,
                                         RunResult& result) {
  const auto count = static_cast<std::uint32_t>(choice.options.size());
  if (count == 1) return 0;
  Step step{0, count, digest_of(choice), {}, {}};
  const std::size_t depth = result.steps.size();
  if (options_.guide) {
    step.tried = options_.guide->options({matcher_, choice, history_, depth, given.size(), options_.walk});
    if (step.tried.empty()) return std::nullopt;
    step.option = step.tried.front();
  }
  if (depth < given.size()) step.option = given[depth];
  if (step.option < count) step.meaning = constraint_of(matcher_, choice, choice.options[step.option]);
  history_ = mix(mix(history_, step.digest), step.option);
  result.steps.push_back(std::move(step));
  return result.steps.back().option;
}

void Run::clear_output() const {
  for (std::uint32_t rank = 0; !options_.output.empty() && rank < stage_->ranks; ++rank)
    for (const char* kind : {"out", "err"}) ::unlink(fmt::format("{}/rank-{}.{}", options_.output, rank, kind).c_str());
}

void Run::read_output(RunResult& result) const {
  for (std::uint32_t rank = 0; !options_.output.empty() && rank < stage_->ranks; ++rank) {
    std::ifstream file(fmt::format("{}/rank-{}.out", options_.output, rank));
    result.output.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
}

void Run::read_histories(RunResult& result) const {
  if (!options_.wants_contents) return;
  std::set<std::pair<int, std::uint64_t>> known;
  const auto add = [&](int rank, std::uint64_t site, std::uint32_t function) {
    if (known.emplace(rank, site).second) result.received_at.push_back({rank, 0, site, function, "", 0});
  };
  for (const Receive& receive : matcher_.receives()) add(receive.rank, receive.site, receive.function);
  for (const Matcher::Member& member : matcher_.members())
    add(member.rank, member.entrance.site, member.entrance.function);
  for (int rank = 0; rank < matcher_.ranks(); ++rank) result.histories.push_back(matcher_.history_of(rank));
}

RunResult Run::play(const std::vector<std::uint32_t>& given) {
  RunResult result;
  clear_output();
  if (!options_.files.empty() && !renew_private_files(options_.files)) {
    result.trouble = fmt::format("cannot make the directory {}: {}", options_.files, std::strerror(errno));
    return result;
  }
  begin();
  std::uint32_t idle = 0;
  for (;;) {
    if (!await_quiescence(result)) break;
    read_scripts(result);
    look_for_crowds(result);
    look_for_conflicts(result);
    if (fatal_ && !matcher_.anybody_asleep()) break;
    if (matcher_.mismatch()) break;
    if (!serve_accesses(result)) break;
    auto answers = matcher_.settle();
    while (answers.empty()) {
      auto choice = matcher_.next_choice();
      if (!choice) break;
      const auto option = decide(*choice, given, result);
      if (!option) {
        result.counts = false;
        dismiss();
        return result;
      }
      if (*option >= choice->options.size()) {
        result.problems.push_back({Category::Unstable, {place_of(choice->rank)}, 0, "", false});
        dismiss();
        return result;
      }
      answers = matcher_.apply(*choice, choice->options[*option]);
      if (!answers.empty()) break;
      if (!serve_accesses(result)) break;
      answers = matcher_.settle();
    }
    if (is_stalled(result)) break;
    if (!answers.empty()) {
      idle = 0;
    } else if (idle < (matcher_.anybody_asleep() ? kIdlePauses : kIdlePolls)) {
      answers = matcher_.anybody_asleep() ? matcher_.let_time_pass() : matcher_.refuse_polls();
      ++idle;
    }
    if (answers.empty()) break;
    resume(answers);
  }
  if (idle >= kIdlePolls) livelock_ = true;
  conclude(result);
  dismiss();
  read_output(result);
  read_histories(result);
  return result;
}

}  // namespace reprise::explore
