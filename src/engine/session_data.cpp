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

Result<DataReplayer> Session::open_values(std::uint32_t thread) const {
  const int dir = open(configuration_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return Error{configuration_.directory + ": " + std::strerror(errno)};
  auto reader = DataReader::open(dir, {configuration_.trace_id, *configuration_.solo_rank, thread});
  close(dir);
  if (!reader) return reader.error();
  return DataReplayer(std::move(*reader));
}

void Session::begin_solo() {
  auto values = open_values(0);
  if (!values) give_up(values.error().what);
  main_.values.emplace(std::move(*values));
}

DataReplayer& Session::values() {
  if (!stream().values) supervisor_.trouble("the values that reached this thread were not recorded");
  return *stream().values;
}

}  // namespace reprise::engine
