// The values that reach a rank, beside its log: recorded for the ranks that the user chose, and taken from there when
// one of them is replayed alone.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "engine/session.hpp"

namespace reprise::engine {

void Session::open_data(ThreadStream& stream, int dir) {
  const trace::Info info{{"rank", std::to_string(rank_)}, {"thread", std::to_string(stream.number)}};
  const auto opened = stream.data.open(dir, {configuration_.trace_id, rank_, stream.number | trace::kDataStream}, info,
                                       configuration_.plain, configuration_.data_limit);
  if (!opened) append_note("no-data", opened.error().what);
}

void Session::open_messages() {
  const int dir = open(configuration_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  Result<void> opened = Error{configuration_.directory + ": " + std::strerror(errno)};
  if (dir >= 0)
    opened = messages_.open(dir, {configuration_.trace_id, rank_, trace::kMessageStream}, {{"rank", std::to_string(rank_)}},
                            configuration_.plain, UINT64_MAX);
  if (dir >= 0) close(dir);
  if (!opened) append_note("no-messages", opened.error().what);
}

Result<DataReplayer> Session::open_values(std::uint32_t rank, std::uint32_t thread) const {
  const int dir = open(configuration_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return Error{configuration_.directory + ": " + std::strerror(errno)};
  auto reader = DataReader::open(dir, {configuration_.trace_id, rank, thread | trace::kDataStream});
  close(dir);
  if (!reader) return reader.error();
  return DataReplayer(std::move(*reader));
}

std::uint32_t Session::recorded_ranks() const {
  const int dir = open(configuration_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return 0;
  const auto reader = trace::RankReader::open(dir, *configuration_.solo_rank, configuration_.trace_id);
  close(dir);
  std::uint32_t ranks = 0;
  return reader && parse_number(reader->info("ranks"), ranks) ? ranks : 0;
}

void Session::each_completion(const std::function<void(DataEntry&)>& visit) const {
  const int dir = open(configuration_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return;
  for (const std::uint32_t thread : trace::streams_of(dir, *configuration_.solo_rank)) {
    if (!trace::has_log(dir, *configuration_.solo_rank, thread | trace::kDataStream)) continue;
    auto reader = DataReader::open(dir, {configuration_.trace_id, *configuration_.solo_rank, thread | trace::kDataStream});
    while (reader) {
      auto entry = reader->next();
      if (!entry || !*entry) break;  // whoever needs what is damaged will find out
      if ((*entry)->kind == DataKind::Completion) visit(**entry);
    }
  }
  close(dir);
}

void Session::begin_solo() {
  auto values = open_values(*configuration_.solo_rank, 0);
  if (!values) give_up(values.error().what);
  main_.values.emplace(std::move(*values));
}

DataReplayer& Session::values() {
  if (!stream().values) supervisor_.trouble("the values that reached this thread were not recorded");
  return *stream().values;
}

}  // namespace reprise::engine
