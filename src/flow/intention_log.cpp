#include "flow/intention_log.hpp"

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "trace/format.hpp"

namespace reprise::flow {
namespace {

using engine::DataEntry;
using engine::DataPart;
using trace::IntentionRecord;

constexpr std::size_t kMostRuns = 1u << 20;
constexpr std::int64_t kMostElements = std::int64_t{1} << 48;

std::uint64_t word(std::int64_t number) { return static_cast<std::uint64_t>(number); }

template <class Number>
bool numbers(const DataPart& part, std::vector<Number>& out) {
  ByteReader in(*part);
  while (in.left() > 0 && in.ok()) out.push_back(static_cast<Number>(in.signed_varint()));
  return in.ok();
}

template <class T>
const T* at(const std::deque<T>& all, std::int64_t index) {
  return index >= 0 && word(index) < all.size() ? &all[word(index)] : nullptr;
}

}  // namespace

Result<IntentionLog> IntentionLog::open(int dir_fd, std::uint64_t trace_id, std::uint32_t rank) {
  auto reader = engine::DataReader::open(dir_fd, {trace_id, rank, trace::kMessageStream});
  if (!reader) return reader.error();
  IntentionLog log(std::move(*reader));
  log.rank_ = rank;
  return log;
}

Result<std::optional<Event>> IntentionLog::next() {
  for (;;) {
    auto entry = reader_.next();
    if (!entry) return entry.error();
    if (!*entry) return std::optional<Event>();
    ++entries_;
    const auto kind = static_cast<IntentionRecord>((*entry)->kind);
    bool fine = true;
    const bool defines = kind < IntentionRecord::Begin && kind != IntentionRecord::Unordered;
    if (defines || kind == IntentionRecord::Site || kind == IntentionRecord::Stream) {
      fine = define(**entry);
    } else if (auto found = event(**entry)) {
      return std::optional<Event>(std::move(*found));
    } else {
      fine = false;
    }
    if (!fine) return Error{fmt::format("rank-{}.messages: entry {} (kind {}) makes no sense", rank_, entries_ - 1, static_cast<int>(kind))};
  }
}

bool IntentionLog::define(const DataEntry& entry) {
  switch (static_cast<IntentionRecord>(entry.kind)) {
    case IntentionRecord::Place:
    case IntentionRecord::Site:
    case IntentionRecord::Stream: {
      if (entry.parts.size() != 1) return false;
      const auto kind = static_cast<IntentionRecord>(entry.kind);
      auto& texts = kind == IntentionRecord::Place ? *places_ : kind == IntentionRecord::Site ? *sites_ : *streams_;
      texts.emplace_back(entry.parts[0]->begin(), entry.parts[0]->end());
      return true;
    }
    case IntentionRecord::Type: {
      if (entry.parts.size() != 1) return false;
      LoggedType type;
      if (auto tree = engine::type_tree_from(*entry.parts[0])) type.tree = std::move(*tree);
      type.flat = engine::flatten(type.tree, kMostRuns);
      if (engine::may_lose_padding(type.tree, type.flat)) type.flat.known = false;
      type.begins = engine::begins_of_runs(type.flat);
      types_->push_back(std::move(type));
      return true;
    }
    case IntentionRecord::Group: return define_group(entry);
    case IntentionRecord::Shape: return define_shape(entry);
    default: return false;
  }
}

bool IntentionLog::define_group(const DataEntry& entry) {
  if (entry.parts.size() != 4) return false;
  LoggedGroup group;
  group.uid = word(entry.field(0));
  group.me = static_cast<int>(entry.field(1));
  std::vector<int> first, second;
  if (!numbers(entry.parts[0], group.local) || !numbers(entry.parts[1], group.remote) || !numbers(entry.parts[2], first) ||
      !numbers(entry.parts[3], second))
    return false;
  if (group.me < 0 || word(group.me) >= group.local.size()) return false;
  switch (entry.field(4)) {
    case 1: group.topology = virtual_world::Cartesian{first, {second.begin(), second.end()}}; break;
    case 2: group.topology = virtual_world::Graph{first, second}; break;
    case 3: group.topology = virtual_world::DistributedGraph{first, {}, second, {}, false}; break;
    default: break;
  }
  groups_->push_back(std::move(group));
  return true;
}

bool IntentionLog::blocks(const DataPart& part, std::size_t fields, std::vector<LoggedBlock>& out) const {
  std::vector<std::int64_t> words;
  if (!numbers(part, words) || words.size() % fields != 0) return false;
  for (std::size_t i = 0; i < words.size(); i += fields) {
    LoggedBlock block;
    block.place = words[i];
    block.count = word(words[i + 1]);
    block.type = at(*types_, words[i + 2]);
    block.peer = static_cast<int>(words[i + 3]);
    if (fields > 4) block.number = word(words[i + 4]);
    if (fields > 5) block.by_edge = words[i + 5] != 0;
    if (words[i + 1] < 0 || words[i + 1] > kMostElements || (block.count > 0 && !block.type)) return false;
    out.push_back(block);
  }
  return true;
}

bool IntentionLog::define_shape(const DataEntry& entry) {
  if (entry.parts.size() != 2 || entry.fields.size() != trace::kShapeFields) return false;
  LoggedShape shape;
  const auto number = [&](std::size_t index) { return static_cast<int>(entry.field(index)); };
  shape.place = at(*places_, entry.field(0));
  shape.group = at(*groups_, entry.field(1));
  if (!shape.place || !shape.group || entry.field(2) < 0 || entry.field(2) > 5) return false;
  shape.form = static_cast<trace::IntentionForm>(entry.field(2));
  shape.root = number(3);
  shape.dest = number(4);
  shape.send_tag = number(5);
  shape.source = number(6);
  shape.receive_tag = number(7);
  shape.operation = word(entry.field(8));
  shape.combines = entry.field(9);
  shape.all = word(entry.field(10));
  shape.first = word(entry.field(11));
  shape.count = word(entry.field(12));
  shape.element = at(*types_, entry.field(13));
  shape.flags = entry.field(14);
  const auto peers = static_cast<std::int64_t>(shape.group->peers().size());
  if (shape.combines > peers || (shape.combines >= 0 && !shape.element) || shape.all > word(kMostElements))
    return false;
  if (!blocks(entry.parts[0], 4, shape.gives) || !blocks(entry.parts[1], 6, shape.takes)) return false;
  shapes_->push_back(std::move(shape));
  return true;
}

std::optional<Event> IntentionLog::event(const DataEntry& entry) {
  Event event;
  event.kind = static_cast<IntentionRecord>(entry.kind);
  const auto part = [&](std::size_t index) { return index < entry.parts.size() ? entry.parts[index] : DataPart(); };
  const auto told = [&](std::size_t first) {
    return Told{static_cast<int>(entry.field(first)), static_cast<int>(entry.field(first + 1)),
                static_cast<int>(entry.field(first + 2)), word(entry.field(first + 3)), entry.field(first + 4) != 0};
  };
  switch (event.kind) {
    case IntentionRecord::Unordered: return event;
    case IntentionRecord::Begin:
      event.shape = at(*shapes_, entry.field(0));
      event.address = word(entry.field(1));
      event.given_from = word(entry.field(2));
      event.time = time_ += word(entry.field(3));
      event.post = posts_++;
      event.given = part(0);
      event.contribution = part(1);
      break;
    case IntentionRecord::Whole:
      event.shape = at(*shapes_, entry.field(0));
      event.address = word(entry.field(1));
      event.told = told(2);
      event.given = part(0);
      event.taken = part(1);
      event.contribution = part(2);
      event.result = part(3);
      event.expected = part(4);
      break;
    case IntentionRecord::End:
      event.post = word(entry.field(0));
      if (entry.field(1) > 0 && !(event.shape = at(*shapes_, entry.field(1) - 1))) return std::nullopt;
      event.told = told(2);
      event.time = time_ += word(entry.field(7));
      event.address = word(entry.field(8));
      event.taken = part(0);
      event.result = part(1);
      event.expected = part(2);
      return event;
    case IntentionRecord::Freed: event.post = word(entry.field(0)); return event;
    case IntentionRecord::Remark:
      event.seen = static_cast<trace::Seen>(entry.field(0));
      event.side = static_cast<int>(entry.field(1));
      event.block = word(entry.field(2));
      event.offset = entry.field(3);
      event.more = word(entry.field(4));
      return event;
    case IntentionRecord::Access: event.shape = at(*shapes_, entry.field(0)); break;
    case IntentionRecord::Accumulated:
      event.more = word(entry.field(0));
      event.block = word(entry.field(1));
      event.given = part(0);
      event.taken = part(1);
      if (!event.given || !event.taken) return std::nullopt;
      return event;
    default:
      event.time = time_;
      if (!movement(entry, event)) return std::nullopt;
      return event;
  }
  if (!event.shape) return std::nullopt;
  return event;
}

bool IntentionLog::movement(const DataEntry& entry, Event& event) {
  const auto field = [&](std::size_t index) { return word(entry.field(index)); };
  Movement& moved = event.movement;
  if (trace::is_movement(event.kind)) {
    event.time = time_ += field(0);
    if (!(moved.site = at(*sites_, entry.field(1)))) return false;
  }
  switch (event.kind) {
    case IntentionRecord::Process:
      has_movements_ = true;
      moved.process = entry.field(0);
      moved.device = field(1);
      moved.file = field(2);
      return true;
    case IntentionRecord::Mapped:
      moved.to = field(0);
      moved.bytes = field(1);
      moved.device = field(2);
      moved.file = field(3);
      moved.offset = field(4);
      return true;
    case IntentionRecord::Unmapped:
      moved.to = field(0);
      moved.bytes = field(1);
      return true;
    case IntentionRecord::Copied:
      moved.to = last_to_ += field(2);
      moved.from = last_from_ += field(3);
      moved.bytes = field(4);
      return true;
    case IntentionRecord::Sent:
    case IntentionRecord::Heard:
      moved.to = moved.from = field(2);
      moved.bytes = field(3);
      moved.stream = at(*streams_, entry.field(4));
      moved.offset = field(5);
      return moved.stream != nullptr;
    case IntentionRecord::Pulled:
    case IntentionRecord::Pushed:
      moved.to = field(2);
      moved.from = field(3);
      moved.bytes = field(4);
      moved.process = entry.field(5);
      return true;
    case IntentionRecord::Packed:
    case IntentionRecord::Unpacked:
      moved.post = field(2);
      moved.block = field(3);
      moved.offset = field(4);
      moved.to = moved.from = field(5);
      moved.bytes = field(6);
      moved.wrong = field(7);
      moved.takes = event.kind == IntentionRecord::Unpacked || field(8) != 0;
      return true;
    case IntentionRecord::Held:
      moved.post = field(2);
      moved.takes = field(3) != 0;
      moved.block = field(4);
      moved.to = moved.from = field(5);
      return true;
    default: return false;
  }
}

}  // namespace reprise::flow
