#include "frontends/mpi/flow/window_exchange.hpp"

#include <algorithm>
#include <map>

#include "base/bytes.hpp"

namespace reprise::mpi::flow {
namespace {

using engine::TypeTree;

struct Span {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

Span span_of(const HeardAccess& access) {
  const engine::FlatType& flat = access.type.flat;
  std::int64_t lower = INT64_MAX;
  std::int64_t upper = INT64_MIN;
  for (const auto& run : flat.runs) {
    lower = std::min(lower, run.offset);
    upper = std::max(upper, run.offset + static_cast<std::int64_t>(run.size));
  }
  if (flat.runs.empty() || access.told.count == 0) return {};
  const std::int64_t steps = static_cast<std::int64_t>(access.told.count - 1) * flat.extent;
  return {access.told.offset + lower + std::min<std::int64_t>(steps, 0), access.told.offset + upper + std::max<std::int64_t>(steps, 0)};
}

Region region_of(std::uint8_t* base, const HeardAccess& access) {
  return {base + access.told.offset, access.told.count, &access.type};
}

bool accumulates(const HeardAccess& access) { return access.told.kind == static_cast<std::uint32_t>(AccessKind::Accumulate); }

// Two that touch the same bytes: only gets may do so, and accumulates with the same operation (MPI 4.0, 12.7).
std::vector<bool> in_conflict(const std::vector<HeardAccess>& heard, const std::vector<Span>& spans) {
  std::vector<bool> all(heard.size());
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < heard.size(); ++i)
    if (spans[i].from < spans[i].to) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return spans[a].from < spans[b].from; });
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t j = i + 1; j < order.size() && spans[order[j]].from < spans[order[i]].to; ++j) {
      const HeardAccess& one = heard[order[i]];
      const HeardAccess& other = heard[order[j]];
      const auto get = static_cast<std::uint32_t>(AccessKind::Get);
      const bool fine = (one.told.kind == get && other.told.kind == get) ||
                        (accumulates(one) && accumulates(other) && one.told.operation == other.told.operation &&
                         std::strcmp(one.told.name, other.told.name) == 0);
      if (!fine) all[order[i]] = all[order[j]] = true;
    }
  return all;
}

void compare(std::uint8_t* base, const HeardAccess& access) {
  const Region region = region_of(base, access);
  Digests now;
  now.add(region, region.bytes(), trace::kMostPieces);
  if (now.size() == access.content.size() && std::memcmp(now.data(), access.content.data(), now.size()) == 0) return;
  std::uint64_t offset = 0;
  const std::uint64_t piece = trace::piece_size(region.bytes(), trace::kMostPieces);
  for (std::size_t i = 8; i + 2 <= now.size() && i + 2 <= access.content.size(); i += 2, offset += piece)
    if (std::memcmp(now.data() + i, access.content.data() + i, 2) != 0) break;
  const bool is_get = access.told.kind == static_cast<std::uint32_t>(AccessKind::Get);
  log_remark(trace::Seen::WrongAccess, is_get ? 1 : 0, static_cast<std::uint64_t>(access.origin), offset, access.told.number);
}

struct Element {
  std::vector<std::pair<const HeardAccess*, const std::uint8_t*>> contributions;
};

constexpr std::size_t kMostElements = 4096;  // that are logged at a time

void log_elements(std::uint8_t* base, std::span<const std::uint8_t> before, const std::map<std::int64_t, Element>& elements,
                  const ToldAccess& like) {
  std::vector<std::uint8_t> data;
  std::uint8_t room[kMaxVarint];
  const auto number = [&](std::uint64_t value) { data.insert(data.end(), room, put_varint(room, value)); };
  std::size_t count = 0;
  for (const auto& [offset, element] : elements) {
    if (++count > kMostElements) break;
    number(element.contributions.size());
    for (const auto& [access, from] : element.contributions) {
      number(static_cast<std::uint64_t>(access->origin));
      number(access->told.number);
    }
    const std::uint8_t* const old = before.data() + offset;
    data.insert(data.end(), old, old + like.element);
    data.insert(data.end(), base + offset, base + offset + like.element);
    for (const auto& [access, from] : element.contributions) data.insert(data.end(), from, from + like.element);
  }
  log_accumulated(like.operation, like.element, like.name, {data.data(), data.size()});
}

void look_at_accumulated(std::uint8_t* base, std::span<const std::uint8_t> before, const std::vector<HeardAccess>& heard,
                         const std::vector<bool>& skipped) {
  std::map<std::pair<std::string, std::uint32_t>, std::pair<ToldAccess, std::map<std::int64_t, Element>>> all;  // by type and operation
  for (std::size_t i = 0; i < heard.size(); ++i) {
    const HeardAccess& access = heard[i];
    if (!accumulates(access) || skipped[i] || access.told.element == 0) continue;
    auto& [like, elements] = all[{access.told.name, access.told.operation}];
    like = access.told;
    const std::uint8_t* from = access.content.data();
    const Region region = region_of(base, access);
    if (access.content.size() != region.bytes()) continue;
    visit(region, region.bytes(), [&, &elements = elements](const std::uint8_t* at, std::size_t size) {
      for (std::size_t used = 0; used + access.told.element <= size; used += access.told.element, from += access.told.element)
        if (elements.size() < kMostElements || elements.contains(at + used - base))
          elements[at + used - base].contributions.emplace_back(&access, from);
    });
  }
  for (const auto& [key, group] : all) log_elements(base, before, group.second, group.first);
}

}  // namespace

std::string element_of(const Type& type, std::uint32_t& size) {
  const auto tree = engine::type_tree_from(type.tree);
  std::string name;
  size = 0;
  bool one = tree.has_value();
  const auto look = [&](const TypeTree& part, const auto& again) -> void {
    if (part.made == TypeTree::Made::Named) {
      one = one && (name.empty() || name == part.name);
      name = part.name;
      size = static_cast<std::uint32_t>(part.size);
    }
    for (const TypeTree& inner : part.types) again(inner, again);
  };
  if (tree) look(*tree, look);
  return one ? name : std::string();
}

std::vector<HeardAccess> read_accesses(int origin, std::span<const std::uint8_t> bytes) {
  std::vector<HeardAccess> all;
  while (bytes.size() >= sizeof(ToldAccess)) {
    HeardAccess one;
    one.origin = origin;
    std::memcpy(&one.told, bytes.data(), sizeof one.told);
    bytes = bytes.subspan(sizeof one.told);
    const std::size_t runs = one.told.runs * sizeof(engine::FlatType::Run);
    if (bytes.size() < runs + one.told.content) break;
    one.type.flat.runs.resize(one.told.runs);
    std::memcpy(one.type.flat.runs.data(), bytes.data(), runs);
    one.type.flat.size = one.told.size;
    one.type.flat.extent = one.told.extent;
    one.type.flat.solid = one.told.runs == 1 && one.type.flat.runs[0].offset == 0 &&
                          one.told.extent == static_cast<std::int64_t>(one.told.size);
    one.content.assign(bytes.begin() + static_cast<std::ptrdiff_t>(runs),
                       bytes.begin() + static_cast<std::ptrdiff_t>(runs + one.told.content));
    bytes = bytes.subspan(runs + one.told.content);
    all.push_back(std::move(one));
  }
  return all;
}

void look_at_window(std::uint8_t* base, std::uint64_t size, std::span<const std::uint8_t> before,
                    std::vector<HeardAccess>& heard) {
  std::vector<Span> spans;
  for (const HeardAccess& access : heard) spans.push_back(span_of(access));
  std::vector<bool> skipped = in_conflict(heard, spans);
  const auto overlapping = static_cast<std::uint64_t>(std::count(skipped.begin(), skipped.end(), true));
  std::uint64_t unusual = 0;
  std::uint64_t large = 0;
  for (std::size_t i = 0; i < heard.size(); ++i) {
    const auto kind = static_cast<AccessKind>(heard[i].told.kind);
    if (skipped[i] || heard[i].told.count == 0) continue;
    const bool outside = spans[i].from < 0 || spans[i].to > static_cast<std::int64_t>(size);
    if (outside || kind == AccessKind::Other) {
      skipped[i] = true;
      ++unusual;
    } else if (kind == AccessKind::Accumulate && before.size() != size) {
      skipped[i] = true;
      ++large;
    } else if (kind != AccessKind::Accumulate) {
      compare(base, heard[i]);
    }
  }
  look_at_accumulated(base, before, heard, skipped);
  const auto note = [](trace::Unseen why, std::uint64_t count) {
    if (count > 0) log_remark(trace::Seen::NotSeen, 0, static_cast<std::uint64_t>(why), 0, count);
  };
  note(trace::Unseen::Overlapping, overlapping);
  note(trace::Unseen::Unusual, unusual);
  note(trace::Unseen::LargeWindow, large);
}

}  // namespace reprise::mpi::flow
