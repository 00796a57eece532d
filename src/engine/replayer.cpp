#include "engine/replayer.hpp"

#include <algorithm>
#include <cstring>

#include "engine/scout.hpp"

namespace reprise::engine {

using trace::Kind;
using trace::Record;

Replayer::Replayer(CallStream stream, const FunctionTable& functions)
    : stream_(std::move(stream)),
      functions_(functions),
      total_events_(stream_.reader().total_events()),
      unfinished_event_(stream_.reader().end().in_call ? total_events_ : UINT64_MAX) {}

FunctionId Replayer::function_id(std::uint32_t number) {
  while (function_ids_.size() <= number) {
    const std::string& name = stream_.functions()[function_ids_.size()].name;
    FunctionId id = kUnknownFunction;
    for (std::uint16_t i = 0; i < functions_.count; ++i)
      if (name == functions_.names[i]) id = i;
    if (name == kEventName) id = kEventFunction;
    function_ids_.push_back(id);
  }
  return function_ids_[number];
}

// The site of the log in this process. Its address is looked for until the module is there (it may be loaded late).
Replayer::LocalSite& Replayer::local(std::uint32_t number) {
  if (sites_.size() <= number) sites_.resize(stream_.sites().size());
  LocalSite& site = sites_[number];
  if (site.address) [[likely]]
    return site;
  const SiteDefinition& definition = stream_.sites()[number];
  const ModuleDefinition& module = stream_.modules()[definition.module];
  site.function = function_id(definition.function);
  LoadedModule loaded;
  if (definition.module != 0 && find_module_like(module.path.c_str(), module.build_id.c_str(), loaded)) {
    site.address = reinterpret_cast<const void*>(loaded.base + definition.offset);
    index_.insert(site.function, site.address, number);
  }
  return site;
}

bool Replayer::comes_next(FunctionId function, const void* caller) {
  if (stream_.peek() != CallStream::Step::Call) return false;
  const std::uint32_t site = stream_.peek_site();
  if (site >= stream_.sites().size() || function_id(stream_.sites()[site].function) != function) return false;
  return stream_.sites()[site].module == 0 || local(site).address == caller;
}

void Replayer::pass_reads() {
  std::uint64_t passed = 0;
  pass_reads(passed);
}

bool Replayer::read_comes() {
  if (stream_.peek() != CallStream::Step::Call) return false;
  const std::uint32_t site = stream_.peek_site();
  if (site >= stream_.sites().size()) return false;
  const FunctionId function = function_id(stream_.sites()[site].function);
  return function >= functions_.first_read && function < functions_.first_sync;
}

Replayer::Fit Replayer::call_past_reads(FunctionId function, const void* caller, const Arguments& arguments,
                                        std::uint64_t& passed) {
  pass_reads(passed);
  return call(function, caller, arguments);
}

void Replayer::pass_reads(std::uint64_t& passed) {
  for (; read_comes(); ++passed) {
    stream_.take_call();
    while (stream_.peek() == CallStream::Step::Outcome) {
      const Record record = stream_.take_outcome();
      int error = 0;
      if (record.kind == Kind::Numbers) stream_.numbers(record, numbers_, error);  // keeps the lanes right
    }
  }
}

Replayer::Fit Replayer::call_with_care(FunctionId function, const void* caller, const Arguments& arguments) {
  function_ = function;
  caller_ = caller;
  arguments_ = arguments;
  switch (stream_.peek()) {
    case CallStream::Step::Call: break;
    case CallStream::Step::End:
      return was_cut_off() ? Fit::AtEnd : differs("the recorded run made no further call", nullptr);
    case CallStream::Step::Damaged: return differs(stream_.error(), nullptr);
    case CallStream::Step::Outcome:
      return differs("the recorded run got an outcome here, but this run makes another call", &last_);
  }
  const LoggedCall logged = stream_.take_call();
  if (logged.site >= stream_.sites().size()) return differs(stream_.error(), nullptr);
  last_ = logged;
  LocalSite& site = local(logged.site);
  if (!site.address && stream_.sites()[logged.site].module == 0) {
    // Code that belongs to no module (compiled at run time) has another address each time: take it as it comes.
    site.address = caller;
    index_.insert(function, caller, logged.site);
  }
  const bool same_place = stream_.sites()[logged.site].module == 0 || site.address == caller_;
  if (site.function != function_) return differs("another function is called" + and_polls(), &logged);
  if (!same_place) return differs(why_another_place(stream_.sites()[logged.site].module) + and_polls(), &logged);
  if (logged.arguments != arguments_)
    return differs(function_ == kEventFunction ? "the event has another name" : "the call has other arguments", &logged);
  return Fit::Follows;
}

// A library that was built again since has its calls at other places.
std::string Replayer::why_another_place(std::uint32_t number) const {
  const ModuleDefinition& module = stream_.modules()[number];
  LoadedModule loaded;
  if (!module.build_id.empty() && !find_module_like(module.path.c_str(), module.build_id.c_str(), loaded) &&
      find_module_like(module.path.c_str(), "", loaded))
    return module.path + " is another build than the recorded one";
  return "the call comes from another place in the program";
}

bool Replayer::was_cut_off() const {
  const trace::End& end = stream_.reader().end();
  return trace::was_cut_off(end) || end.in_call;
}

Replayer::Fit Replayer::outcome(Kind kind, Record& out) {
  switch (stream_.peek()) {
    case CallStream::Step::Outcome: break;
    case CallStream::Step::End: return Fit::AtEnd;
    case CallStream::Step::Damaged: return differs(stream_.error(), nullptr);
    case CallStream::Step::Call: return differs("the recorded run did not need an outcome here", &last_);
  }
  out = stream_.take_outcome();
  return out.kind == kind ? Fit::Follows : differs("the recorded call had an outcome of another kind", &last_);
}

Replayer::Fit Replayer::wildcard(WildcardOutcome& out) {
  Record record;
  const Fit fit = outcome(Kind::Wildcard, record);
  if (fit != Fit::Follows) return fit;
  const auto found = stream_.wildcard(record);
  if (!found) return differs(found.error().what, &last_);
  out = *found;
  return Fit::Follows;
}

Replayer::Fit Replayer::poll(FunctionId function, const void* caller, const Arguments& arguments, bool& success) {
  std::uint32_t number = index_.find(function, caller);
  if (!poll_is_open(function, caller)) {
    if (const Fit fit = call(function, caller, arguments); fit != Fit::Follows) return fit;
    number = last_.site;
    Record record;
    if (const Fit fit = outcome(Kind::Poll, record); fit != Fit::Follows) return fit;
    const std::uint64_t value = CallStream::poll(record);
    if (value == 0) return Fit::AtEnd;
    sites_[number].poll.open = true;
    sites_[number].poll.failures = value >> 1;
    sites_[number].poll.success = value & 1;
  }
  PollSeries& series = sites_[number].poll;
  success = series.failures == 0;
  if (success) {
    series.open = false;
  } else {
    --series.failures;
    if (series.failures == 0 && !series.success) series.open = false;
  }
  return Fit::Follows;
}

Replayer::Fit Replayer::indices(std::vector<std::uint32_t>& out, bool& undefined) {
  Record record;
  const Fit fit = outcome(Kind::Indices, record);
  if (fit == Fit::Follows) undefined = !CallStream::indices(record, out);
  return fit;
}

Replayer::Fit Replayer::time(double& out) {
  Record record;
  const Fit fit = outcome(Kind::Time, record);
  if (fit == Fit::Follows) out = stream_.time(record);
  return fit;
}

Replayer::Fit Replayer::cancelled(std::uint64_t post, bool& out) {
  const auto found = stream_.cancelled(post);
  if (!found) return differs(found.error().what, &last_);
  out = *found;
  return Fit::Follows;
}

Replayer::Fit Replayer::numbers(std::span<std::int64_t> out, int& error) {
  Record record;
  const Fit fit = outcome(Kind::Numbers, record);
  if (fit != Fit::Follows) return fit;
  stream_.numbers(record, numbers_, error);
  if (error == 0 && numbers_.size() != out.size()) return differs("the recorded call had another outcome", &last_);
  std::copy_n(numbers_.begin(), error == 0 ? out.size() : 0, out.begin());
  if (error == 0 && out.size() <= last_numbers_[0].values.size()) {
    LastNumbers& last = last_numbers_[last_numbers_at(function_, arguments_[kTag])];
    last.function = function_;
    last.about = arguments_[kTag];
    std::copy(out.begin(), out.end(), last.values.begin());
  }
  return Fit::Follows;
}

Replayer::Fit Replayer::numbers_again(FunctionId function, const Arguments& arguments, std::span<std::int64_t> out,
                                      int& error) const {
  const LastNumbers& last = last_numbers_[last_numbers_at(function, arguments[kTag])];
  if (last.function != function || last.about != arguments[kTag] || out.size() > last.values.size()) return Fit::Differs;
  error = 0;
  std::copy_n(last.values.begin(), out.size(), out.begin());
  return Fit::Follows;
}

std::size_t Replayer::numbers_if_any(std::span<std::int64_t> room) {
  if (stream_.peek() != CallStream::Step::Outcome || stream_.outcome_kind() != Kind::Numbers) return 0;
  int error = 0;
  stream_.numbers(stream_.take_outcome(), numbers_, error);
  if (error != 0 || numbers_.size() > room.size()) return 0;
  std::copy(numbers_.begin(), numbers_.end(), room.begin());
  return numbers_.size();
}

Replayer::Fit Replayer::bytes(std::span<std::uint8_t> room, std::size_t& size, int& error) {
  size = 0;
  for (;;) {
    Record record;
    const Fit fit = outcome(Kind::Bytes, record);
    if (fit != Fit::Follows) return fit;
    const auto part = CallStream::bytes(record, error);
    if (part.size() > room.size() - size) return differs("the recorded call had another outcome", &last_);
    std::copy(part.begin(), part.end(), room.begin() + static_cast<std::ptrdiff_t>(size));
    size += part.size();
    if (part.size() < trace::kMaxByteString) return Fit::Follows;
  }
}

const CommunicatorRecord* Replayer::new_communicator() {
  stream_.peek();  // its definition lies between the call and what comes next
  if (communicators_made_ >= stream_.made().size()) return nullptr;
  const std::uint64_t uid = stream_.made()[communicators_made_];
  const auto& all = stream_.communicators();
  const auto found = std::find_if(all.rbegin(), all.rend(), [&](const auto& record) { return record.uid == uid; });
  return found == all.rend() ? nullptr : &*found;
}

Replayer::Fit Replayer::communicator(const std::uint64_t* uid) {
  if (stream_.peek() == CallStream::Step::Damaged) return differs(stream_.error(), nullptr);
  const auto& recorded = stream_.made();
  const std::size_t index = uid ? communicators_made_++ : communicators_made_;
  if (!uid) {
    if (index >= recorded.size()) return Fit::Follows;
    return differs("the call gave this rank no communicator, recorded was one", &last_);
  }
  if (index >= recorded.size())
    // The recorded run may have been cut off before it could say so.
    return stream_.peek() == CallStream::Step::End
               ? Fit::Follows
               : differs("the call gave this rank a communicator, recorded was none", &last_);
  if (recorded[index] == *uid) return Fit::Follows;
  return differs("the new communicator has other members than recorded, or in another order", &last_);
}

std::uint64_t Replayer::polls_left(std::uint32_t site) const {
  const PollSeries& series = sites_[site].poll;
  return series.open ? series.failures + (series.success ? 1 : 0) : 0;
}

// Between the last call and the one that was logged next, the recorded run may have continued a series of tests.
std::string Replayer::and_polls() const {
  std::uint64_t left = 0;
  for (std::uint32_t number = 0; number < sites_.size(); ++number) left += polls_left(number);
  if (left == 0) return "";
  return ", and the recorded run had " + std::to_string(left) + (left == 1 ? " test" : " tests") +
         " more, before or after that";
}

// Tests that failed are not logged one by one, so a program that makes fewer of them is found out last.
Replayer::Fit Replayer::all_polls_were_made() {
  if (was_cut_off()) return Fit::Follows;
  for (std::uint32_t number = 0; number < sites_.size(); ++number) {
    if (polls_left(number) == 0) continue;
    const LoggedCall tests{stream_.next_number(), number, {}};
    return differs("the program ends, but the recorded run had " + std::to_string(polls_left(number)) + " tests more",
                   &tests);
  }
  return Fit::Follows;
}

Replayer::Fit Replayer::named_event(const char* name, const void* caller) {
  stream_.peek();  // a new name is defined just before its first event
  for (; names_known_ < stream_.names().size(); ++names_known_) names_.add(stream_.names()[names_known_]);
  const std::string_view text = event_name(name);
  const std::int64_t number = names_.find(text);
  if (number == EventNames::kUnknown) unknown_name_ = text;
  // What the recorder could not number, because there were too many names, fits any other such name.
  return call(kEventFunction, caller, event_arguments(number));
}

Replayer::Fit Replayer::end_of_program() {
  function_ = kUnknownFunction;
  switch (stream_.peek()) {
    case CallStream::Step::End: return all_polls_were_made();
    case CallStream::Step::Damaged: return differs(stream_.error(), nullptr);
    case CallStream::Step::Outcome: return differs("the program ends, but the recorded run goes on", &last_);
    case CallStream::Step::Call: break;
  }
  const LoggedCall logged = stream_.take_call();
  if (logged.site >= stream_.sites().size()) return differs(stream_.error(), nullptr);
  return differs("the program ends, but the recorded run goes on", &logged);
}

ReportedCall Replayer::describe(const LoggedCall& call) const {
  const SiteDefinition& site = stream_.sites()[call.site];
  const ModuleDefinition& module = stream_.modules()[site.module];
  ReportedCall report{stream_.functions()[site.function].name, module.path, module.build_id, site.offset,
                      call.arguments};
  if (report.function == kEventName) name_event(report);
  return report;
}

// An event's argument is the number of its name, which says nothing to a reader.
void Replayer::name_event(ReportedCall& report) const {
  const auto number = static_cast<std::uint64_t>(report.arguments[kTag]);
  report.function += "(\"" + (number < stream_.names().size() ? stream_.names()[number] : unknown_name_) + "\")";
  report.arguments = {};
}

Replayer::Fit Replayer::differs(std::string reason, const LoggedCall* recorded) {
  if (g_scouting) return Fit::Differs;  // nobody reads its report
  report_ = {};
  report_.event = recorded ? recorded->number : stream_.next_number();
  report_.reason = std::move(reason);
  if (recorded) report_.recorded = describe(*recorded);
  if (function_ != kUnknownFunction) {
    LoadedModule module;
    const bool found = find_module_of(caller_, module);
    report_.actual = {functions_.name(function_), found ? module.path : "", found ? module.build_id : "",
                      found ? reinterpret_cast<std::uintptr_t>(caller_) - module.base : 0, arguments_};
    if (function_ == kEventFunction) name_event(report_.actual);
  }
  return Fit::Differs;
}

}  // namespace reprise::engine
