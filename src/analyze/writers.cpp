#include "analyze/writers.hpp"

#include <algorithm>
#include <string>

#include "trace/rank_reader.hpp"

namespace reprise::analyze {

using engine::DataEntry;
using engine::DataKind;
using engine::DataReader;
using engine::SeenMemory;

Writers::Writers(int dir_fd, std::uint64_t trace_id, std::vector<std::uint32_t> ranks)
    : dir_fd_(dir_fd), trace_id_(trace_id), ranks_(std::move(ranks)) {
  std::sort(ranks_.begin(), ranks_.end());
}

template <class Use>
Result<void> Writers::each_entry(Use use) const {
  for (const std::uint32_t rank : ranks_) {
    for (const std::uint32_t thread : trace::streams_of(dir_fd_, rank)) {
      if (!trace::has_log(dir_fd_, rank, thread | trace::kDataStream)) continue;
      auto reader = DataReader::open(dir_fd_, {trace_id_, rank, thread | trace::kDataStream});
      if (!reader) return reader.error();
      for (;;) {
        auto entry = reader->next();
        if (!entry) return entry.error();
        if (!*entry) break;
        if (!use(rank, thread, **entry))
          return Error{"the values of rank " + std::to_string(rank) + ": what it saw in a window cannot be read"};
      }
    }
  }
  return {};
}

void Writers::note_given(std::uint32_t rank, std::uint32_t thread, const DataEntry& entry) {
  constexpr std::size_t kFields = 7;  // of one that goes to a window
  if (entry.kind != DataKind::Sent || entry.fields.size() < kFields) return;
  const auto field = [&](std::size_t index) { return static_cast<std::uint64_t>(entry.field(index)); };
  given_[{rank, static_cast<std::uint32_t>(field(3))}] = {
      thread, field(2), field(0), static_cast<std::uint32_t>(field(1)), static_cast<std::uint32_t>(field(4)), field(5), field(6)};
}

bool Writers::gave_it(const Given& given, const SeenMemory& memory, std::uint32_t region, std::uint64_t begin) {
  const auto now = memory.last_seen(region, begin, given.bytes);
  if (!now) return false;
  const engine::DataRun run{now->data(), now->size()};
  return engine::digest_of({&run, 1}) == given.digest;
}

void Writers::find_writer(const Look& look, const SeenMemory& memory, Writing& writing) const {
  const std::uint64_t end = writing.begin + writing.size;
  const SeenMemory::Accessed* told = nullptr;
  bool by_value = false;
  for (const SeenMemory::Accessed& access : look.accesses) {
    if (access.region != writing.region || access.begin > writing.begin || access.begin + access.size < end) continue;
    const auto given = given_.find({access.rank, access.number});
    const bool matches = given != given_.end() && given->second.bytes == access.size &&
                         gave_it(given->second, memory, access.region, access.begin);
    if (matches || !by_value) told = &access;
    by_value |= matches;
  }
  if (told) {
    writing.writer = told->rank;
    writing.in_set = std::binary_search(ranks_.begin(), ranks_.end(), told->rank);
    if (const auto given = given_.find({told->rank, told->number}); given != given_.end())
      blame(told->rank, given->second, writing);
    return;
  }
  for (const auto& [key, given] : given_) {
    if (given.target != writing.rank || given.window != writing.window || given.begin > writing.begin ||
        given.begin + given.bytes < end || !gave_it(given, memory, writing.region, given.begin))
      continue;
    blame(key.first, given, writing);
  }
}

void Writers::blame(std::uint32_t rank, const Given& given, Writing& writing) {
  writing.writer = rank;
  writing.in_set = true;
  writing.writer_thread = given.thread;
  writing.written_by = given.call;
}

// Between the ends of accesses the writer is one.
void Writers::split(const Look& look, const SeenMemory::Seen& range, const SeenMemory& memory, const Visit& visit) const {
  std::vector<std::uint64_t> cuts{range.begin, range.begin + range.size};
  for (const SeenMemory::Accessed& access : look.accesses) {
    if (access.region != range.region) continue;
    for (const std::uint64_t cut : {access.begin, access.begin + access.size})
      if (cut > range.begin && cut < range.begin + range.size) cuts.push_back(cut);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  const auto show = [&](Writing& one) {
    if (one.size <= kFew) one.bytes = memory.last_seen(one.region, one.begin, one.size).value_or(std::vector<std::uint8_t>());
    visit(one);
  };
  std::optional<Writing> last;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    Writing writing = look.writing;
    writing.region = range.region;
    writing.begin = cuts[i];
    writing.size = cuts[i + 1] - cuts[i];
    find_writer(look, memory, writing);
    if (last && last->writer == writing.writer && last->written_by == writing.written_by) {
      last->size += writing.size;
      continue;
    }
    if (last) show(*last);
    last = writing;
  }
  if (last) show(*last);
}

Result<void> Writers::each(const Visit& visit) {
  const auto given = each_entry([&](std::uint32_t rank, std::uint32_t thread, const DataEntry& entry) {
    note_given(rank, thread, entry);
    return true;
  });
  if (!given) return given;
  std::map<std::pair<std::uint32_t, std::uint64_t>, SeenMemory> memories;  // by rank and window
  return each_entry([&](std::uint32_t rank, std::uint32_t thread, const DataEntry& entry) {
    if (entry.kind != DataKind::Seen && entry.kind != DataKind::Loaded) return true;
    Look look;
    look.writing.rank = rank;
    look.writing.thread = thread;
    look.writing.call = static_cast<std::uint64_t>(entry.field(2));
    look.writing.window = static_cast<std::uint64_t>(entry.field(1));
    SeenMemory& memory = memories[{rank, look.writing.window}];
    if (entry.parts.size() != 3 || !SeenMemory::read_ranges(*entry.parts[0], look.ranges) ||
        !SeenMemory::read_touches(*entry.parts[2], look.accesses) || !memory.learn(look.ranges, *entry.parts[1]))
      return false;
    for (const SeenMemory::Seen& range : look.ranges)
      if (range.is_new) split(look, range, memory, visit);
    return true;
  });
}

}  // namespace reprise::analyze
