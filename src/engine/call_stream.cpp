#include "engine/call_stream.hpp"

#include <bit>

namespace reprise::engine {

using trace::Definition;
using trace::Kind;
using trace::Record;

CallStream::CallStream(trace::RankReader reader) : reader_(std::move(reader)) {}

CallStream::Step CallStream::damaged(const char* what) {
  if (error_.empty())
    error_ = reader_.damaged_record(std::string(what) + ", near call " + std::to_string(next_number_)).what;
  return Step::Damaged;
}

bool CallStream::fetch() {
  auto next = reader_.next();
  if (!next) {
    error_ = next.error().what;
    return false;
  }
  record_ = *next;
  fetched_ = true;
  hits_left_ = record_ ? record_->hits : 0;
  return true;
}

CallStream::Step CallStream::peek() {
  if (!error_.empty()) return Step::Damaged;
  for (;;) {
    if (!fetched_ && !fetch()) return Step::Damaged;
    if (hits_left_ > 0) {
      const std::uint32_t site = model_.predicted_site();
      return site < sites_.size() ? Step::Call : damaged("a predicted call that nothing predicts");
    }
    if (!record_) return Step::End;
    switch (record_->kind) {
      case Kind::Event: return Step::Call;
      case Kind::Define:
        if (!apply_definition(*record_)) return damaged("a definition that does not fit");
        break;
      case Kind::Late:  // found by RankReader::late when it is needed
      case Kind::Pause: break;
      default: return Step::Outcome;
    }
    fetched_ = false;
  }
}

std::uint32_t CallStream::peek_site() const {
  if (hits_left_ > 0) return model_.predicted_site();
  ByteReader in(record_->payload);
  const auto flags = in.fixed<std::uint8_t>();
  return flags & trace::kSiteFollows ? static_cast<std::uint32_t>(in.varint()) : model_.predicted_site();
}

LoggedCall CallStream::take_call() {
  LoggedCall call;
  call.number = next_number_;
  std::uint8_t flags = 0;
  ByteReader in({});
  if (hits_left_ > 0) {
    --hits_left_;
  } else {
    in = ByteReader(record_->payload);
    flags = in.fixed<std::uint8_t>();
    fetched_ = false;
  }
  call.site = flags & trace::kSiteFollows ? static_cast<std::uint32_t>(in.varint()) : model_.predicted_site();
  if (call.site >= sites_.size()) {
    damaged("a call from a place that was never defined");
    return call;
  }
  SiteHistory& history = histories_[call.site];
  const std::int64_t source = model_.last_source();
  call.arguments = history.predict(source);
  for (unsigned i = 0; i < trace::kArguments; ++i) {
    if (!(flags & trace::argument_follows(i))) continue;
    const auto difference = static_cast<std::uint64_t>(in.signed_varint());
    call.arguments[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(history.last()[i]) + difference);
  }
  if (!history.repeats(call.arguments)) history.learn(call.arguments, source);
  model_.advance(call.site);
  last_site_ = call.site;
  ++next_number_;
  return call;
}

Record CallStream::take_outcome() {
  fetched_ = false;
  return *record_;
}

Result<WildcardOutcome> CallStream::wildcard(const Record& record) {
  WildcardOutcome outcome{get_fixed<std::uint32_t>(record.payload.data()),
                          get_fixed<std::int32_t>(record.payload.data() + 4)};
  const std::uint64_t ordinal = wildcards_++;
  if (outcome.code == trace::kPending || outcome.code == trace::kAmbiguous) {
    const auto late = reader_.late(ordinal);
    if (!late) return late.error();
    if (late->code != trace::kPending) outcome = {late->code, late->tag};
  }
  const bool blocking = last_site_ < sites_.size() && functions_[sites_[last_site_].function].blocking;
  if (blocking && outcome.code >= trace::kSourceBase) model_.set_last_source(outcome.code - trace::kSourceBase);
  return outcome;
}

double CallStream::time(const Record& record) {
  ByteReader in(record.payload);
  last_time_ += static_cast<std::uint64_t>(in.signed_varint());
  return std::bit_cast<double>(last_time_);
}

std::uint64_t CallStream::poll(const Record& record) { return get_fixed<std::uint64_t>(record.payload.data()); }

bool CallStream::indices(const Record& record, std::vector<std::uint32_t>& out) {
  ByteReader in(record.payload);
  const std::uint64_t count = in.varint();
  out.clear();
  for (std::uint64_t i = 1; i < count; ++i) out.push_back(static_cast<std::uint32_t>(in.varint()));
  return count != 0;
}

void CallStream::numbers(const Record& record, std::vector<std::int64_t>& out, int& error) {
  ByteReader in(record.payload);
  const std::uint64_t count = in.varint();
  out.clear();
  error = count == 0 ? static_cast<int>(in.varint()) : 0;
  if (last_site_ >= sites_.size()) return;
  const std::int64_t tag = histories_[last_site_].last()[kTag];
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t& last = lanes_[trace::lane_of(sites_[last_site_].function, tag, i)];
    last += static_cast<std::uint64_t>(in.signed_varint());
    out.push_back(static_cast<std::int64_t>(last));
  }
}

std::span<const std::uint8_t> CallStream::bytes(const Record& record, int& error) {
  ByteReader in(record.payload);
  const std::uint64_t count = in.varint();
  error = count == 0 ? static_cast<int>(in.varint()) : 0;
  return in.bytes(count == 0 ? 0 : count - 1);
}

bool CallStream::apply_definition(const Record& record) {
  ByteReader outer(record.payload);
  ByteReader in(outer.bytes(outer.varint()));
  switch (static_cast<Definition>(in.fixed<std::uint8_t>())) {
    case Definition::Function: {
      FunctionDefinition function;
      function.name = in.string(trace::kMaxText);
      function.blocking = in.varint() & 1;
      functions_.push_back(std::move(function));
      return in.ok() && functions_.size() <= trace::kMaxText;
    }
    case Definition::Module: {
      ModuleDefinition module;
      module.path = in.string(trace::kMaxText);
      module.build_id = in.string(trace::kMaxText);
      modules_.push_back(std::move(module));
      return in.ok() && modules_.size() <= trace::kMaxText;
    }
    case Definition::Site: {
      SiteDefinition site;
      const std::uint64_t function = in.varint();
      const std::uint64_t module = in.varint();
      site.offset = in.varint();
      if (!in.ok() || function >= functions_.size() || module >= modules_.size() || sites_.size() >= trace::kMaxSites)
        return false;
      site.function = static_cast<std::uint32_t>(function);
      site.module = static_cast<std::uint32_t>(module);
      sites_.push_back(site);
      histories_.emplace_back();
      return true;
    }
    case Definition::Communicator: {
      CommunicatorRecord comm;
      comm.parent = in.signed_varint();
      comm.uid = in.fixed<std::uint64_t>();
      comm.how = in.string(trace::kMaxText);
      comm.counter = in.varint();
      comm.my_rank = in.varint();
      comm.size = in.varint();
      const std::uint64_t ranges = in.varint();
      if (!in.ok() || comm.size > trace::kMaxRanks || ranges > in.left()) return false;
      for (std::uint64_t i = 0; i < ranges; ++i) {
        MemberRange range;
        range.first = static_cast<std::uint32_t>(in.varint());
        range.stride = in.signed_varint();
        range.count = in.varint();
        if (range.count > trace::kMaxRanks) return false;
        comm.members.push_back(range);
      }
      if (!in.at_end()) comm.remote = in.varint();  // the first recordings did not say it
      if (comm.remote > comm.size) return false;
      // Communicators of other threads lie in between.
      const std::uint64_t number = in.at_end() ? communicators_.size() : in.varint();
      if (number > communicators_.size() && number >= trace::kMaxNames) return false;
      if (comm.parent >= static_cast<std::int64_t>(number)) return false;
      if (number >= communicators_.size()) communicators_.resize(number + 1);
      made_.push_back(comm.uid);
      communicators_[number] = std::move(comm);
      return in.ok();
    }
    case Definition::Note: {
      NoteRecord note;
      note.before_event = next_number_;
      note.key = in.string(trace::kMaxText);
      note.text = in.string(trace::kMaxText);
      notes_.push_back(std::move(note));
      return in.ok() && notes_.size() <= trace::kMaxText;
    }
    case Definition::Name:
      names_.emplace_back(in.string(trace::kMaxText));
      return in.ok() && names_.size() <= trace::kMaxNames;
  }
  return in.ok();  // a kind of a later version: skipped
}

}  // namespace reprise::engine
