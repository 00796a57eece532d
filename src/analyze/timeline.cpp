#include "analyze/timeline.hpp"

#include "engine/sites.hpp"

namespace reprise::analyze {

using engine::CallStream;
using trace::Kind;

namespace {

// A call has a handful of outcomes; a log that says otherwise is not one of ours.
constexpr std::size_t kMaxOutcomes = 1u << 16;

}  // namespace

Timeline::Timeline(trace::RankReader reader) : stream_(std::make_unique<CallStream>(std::move(reader))) {}

Result<Timeline> Timeline::open(int dir_fd, std::uint32_t rank, std::uint64_t trace_id, std::uint32_t thread,
                                const std::vector<engine::CommunicatorRecord>& known) {
  auto reader = trace::RankReader::open(dir_fd, rank, trace_id, thread);
  if (!reader) return reader.error();
  Timeline timeline(std::move(*reader));
  timeline.stream_->know(known);
  return timeline;
}

const engine::FunctionDefinition& Timeline::function_of(const Call& call) const {
  return stream_->functions()[site_of(call).function];
}

const engine::ModuleDefinition& Timeline::module_of(const Call& call) const {
  return stream_->modules()[site_of(call).module];
}

Result<void> Timeline::add_outcome(Call& call) {
  const trace::Record record = stream_->take_outcome();
  switch (record.kind) {
    case Kind::Wildcard: {
      const auto outcome = stream_->wildcard(record);
      if (!outcome) return outcome.error();
      if (call.wildcards.size() == kMaxOutcomes)
        return stream_->reader().damaged_record("too many outcomes near call " + std::to_string(call.number));
      call.wildcards.push_back(*outcome);
      break;
    }
    case Kind::Poll: {
      const std::uint64_t word = CallStream::poll(record);
      call.poll = PollOutcome{word >> 1, (word & 1) != 0};
      break;
    }
    case Kind::Indices:
      call.reports_indices = true;
      CallStream::indices(record, call.indices);
      break;
    case Kind::Time: call.time = stream_->time(record); break;
    case Kind::Numbers:
      call.read.emplace();
      stream_->numbers(record, call.read->numbers, call.read->error);
      break;
    case Kind::Bytes:
      if (!call.read) call.read.emplace();
      call.read->bytes += CallStream::bytes(record, call.read->error).size();
      break;
    default: break;
  }
  return {};
}

void Call::clear() {
  wildcards.clear();
  poll.reset();
  reports_indices = false;
  indices.clear();
  time.reset();
  unfinished = false;
}

const std::string* Timeline::event_name(const Call& call) const {
  if (function_of(call).name != engine::kEventName) return nullptr;
  static const std::string kNameless = "?";
  const auto number = static_cast<std::uint64_t>(call.arguments[engine::kTag]);
  return number < stream_->names().size() ? &stream_->names()[number] : &kNameless;
}

Result<bool> Timeline::next(Call& call) {
  bool have = false;
  call.clear();
  while (true) {
    switch (stream_->peek()) {
      case CallStream::Step::Damaged: return Error{stream_->error()};
      case CallStream::Step::End:
        if (have) call.unfinished = reader().end().in_call;
        return have;
      case CallStream::Step::Call: {
        if (have) return true;
        const engine::LoggedCall logged = stream_->take_call();
        if (!stream_->error().empty()) return Error{stream_->error()};
        have = true;
        call.number = logged.number;
        call.site = logged.site;
        call.arguments = logged.arguments;
        break;
      }
      case CallStream::Step::Outcome: {
        if (!have) return Error{"the log is damaged: an outcome stands before the first call"};
        if (const auto added = add_outcome(call); !added) return added.error();
        break;
      }
    }
  }
}

Result<std::optional<Call>> Timeline::next() {
  Call call;
  const auto have = next(call);
  if (!have) return have.error();
  return *have ? std::optional(std::move(call)) : std::nullopt;
}

}  // namespace reprise::analyze
