#include "report/call_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/process.hpp"
#include "base/text.hpp"
#include "trace/format.hpp"

namespace reprise::report {

namespace {

constexpr std::size_t kShownIndices = 8;
constexpr std::size_t kShownUid = 8;  // digits that tell communicators apart

std::string wildcard_words(const engine::WildcardOutcome& outcome) {
  switch (outcome.code) {
    case trace::kPending: return "ANY -> not seen to complete";
    case trace::kUnmatched: return "ANY -> matched nothing";
    case trace::kAmbiguous: return "ANY -> ambiguous";
    case trace::kRefused: return "refused: the call failed";
    default: return fmt::format("ANY -> {} tag {}", outcome.code - trace::kSourceBase, outcome.tag);
  }
}

std::string poll_words(const analyze::PollOutcome& poll) {
  if (poll.failures == 0) return poll.succeeded ? "true" : "";
  std::string words = "false";
  if (poll.failures > 1) words += " x " + with_thousands(poll.failures);
  return poll.succeeded ? words + ", then true" : words;
}

std::string index_words(const analyze::Call& call) {
  const auto& list = call.indices;
  if (list.empty()) return "no active request";
  std::string words = list.size() == 1 ? "index" : "indices";
  for (std::size_t i = 0; i < std::min(list.size(), kShownIndices); ++i) words += ' ' + std::to_string(list[i]);
  if (list.size() > kShownIndices) words += fmt::format(" and {} more", list.size() - kShownIndices);
  return words;
}

std::string read_words(const analyze::ReadOutcome& read) {
  if (read.error != 0) return "failed: " + error_text(read.error);
  if (read.numbers.empty()) return counted(read.bytes, "random byte");
  std::string words;
  for (std::size_t i = 0; i < std::min(read.numbers.size(), kShownIndices); ++i)
    words += (i == 0 ? "" : " ") + std::to_string(read.numbers[i]);
  if (read.numbers.size() > kShownIndices) words += fmt::format(" and {} more", read.numbers.size() - kShownIndices);
  return words;
}

}  // namespace

bool is_split(std::string_view function) { return function.find("MPI_Comm_split") != std::string_view::npos; }

std::string colour_words(const engine::Arguments& values) {
  const std::int64_t number = values[engine::kTag];
  return fmt::format("colour {}, key {}", number < 0 ? "UNDEFINED" : std::to_string(number), values[engine::kBytes]);
}

std::string communicator_words(std::int64_t number) {
  if (number == 0) return "world";
  if (number == 1) return "self";
  return number < 0 ? "none" : "comm " + std::to_string(number);
}

std::string peer_words(std::int64_t peer) {
  switch (peer) {
    case engine::kAnySource: return "ANY";
    case engine::kProcNull: return "NULL";
    case engine::kRootItself: return "ROOT";
    default: return std::to_string(peer);
  }
}

std::string tag_words(std::int64_t tag) { return tag == engine::kAnyTag ? "ANY" : std::to_string(tag); }

std::string outcome_words(const analyze::Call& call) {
  std::string words;
  const auto add = [&](const std::string& part) {
    if (part.empty()) return;
    if (!words.empty()) words += "; ";
    words += part;
  };
  for (std::size_t i = 0; i < std::min(call.wildcards.size(), kShownIndices); ++i)
    add(wildcard_words(call.wildcards[i]));
  if (call.wildcards.size() > kShownIndices) add(fmt::format("and {} more", call.wildcards.size() - kShownIndices));
  if (call.poll) add(poll_words(*call.poll));
  if (call.reports_indices) add(index_words(call));
  if (call.time) add(fmt::format("{:.9f} s", *call.time));
  if (call.read) add(read_words(*call.read));
  if (call.unfinished) add("did not return");
  return words;
}

std::string communicator_definition_words(std::size_t number, const engine::CommunicatorRecord& communicator) {
  std::string members;
  for (std::size_t i = 0; i < std::min(communicator.members.size(), kShownIndices); ++i) {
    const engine::MemberRange& range = communicator.members[i];
    if (!members.empty()) members += ", ";
    members += std::to_string(range.first);
    const auto last =
        static_cast<std::uint64_t>(range.first) + (range.count - 1) * static_cast<std::uint64_t>(range.stride);
    if (range.count == 2) members += fmt::format(", {}", last);
    if (range.count > 2) members += fmt::format("-{}", last);
    if (range.count > 2 && range.stride != 1) members += fmt::format(" by {}", range.stride);
  }
  if (communicator.members.size() > kShownIndices) members += ", ...";
  std::string words = communicator_words(static_cast<std::int64_t>(number)) + " = " + printable(communicator.how);
  if (communicator.parent >= 0) words += " of " + communicator_words(communicator.parent);
  words += " @" + hex(communicator.uid).substr(0, kShownUid);
  words += fmt::format("; rank {} of {}", communicator.my_rank, communicator.size - communicator.remote);
  if (communicator.remote > 0) words += fmt::format(" and {} remote", communicator.remote);
  return members.empty() ? words : words + "; world ranks " + members;
}

}  // namespace reprise::report
