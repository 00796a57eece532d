#include "frontends/shmem/values.hpp"

#include <algorithm>
#include <cstring>

#include "engine/session.hpp"
#include "frontends/mpi/border/mirrors.hpp"
#include "frontends/mpi/border/operation.hpp"

namespace reprise::shmem {

using engine::DataKind;
using engine::DataRun;
using engine::Session;

namespace {

constexpr std::int64_t kNoError[] = {0, 0};  // a StoredOutcome without a status

std::vector<DataRun> runs_of(const Elements& elements) {
  std::vector<DataRun> runs;
  elements.visit([&](const std::uint8_t* from, std::size_t size) { runs.push_back({from, size}); });
  return runs;
}

virtual_world::Message message_of(const Elements& elements) {
  const auto bytes = static_cast<std::int64_t>(elements.bytes());
  if (bytes == 0) return {0, engine::digest_of({})};
  if (!elements.is_solid()) return {bytes, engine::digest_of(runs_of(elements))};
  const DataRun whole{elements.address, elements.bytes()};
  return {bytes, engine::digest_of({&whole, 1})};
}

void write(const Elements& elements, const engine::DataPart& part) {
  const std::uint8_t* from = part->data();
  std::size_t left = part->size();
  elements.visit([&](std::uint8_t* to, std::size_t size) {
    size = std::min(size, left);
    std::memcpy(to, from, size);
    from += size;
    left -= size;
  });
}

}  // namespace

bool is_solo() { return engine::mode() == engine::Mode::Replay && Session::get().solo(); }
bool records() { return engine::mode() == engine::Mode::Record && Session::get().records_data(); }

void log_brought(const Elements& elements) {
  const std::uint64_t size = elements.bytes();
  if (size == 0 || !records()) return;
  elements.visit([](const std::uint8_t* from, std::size_t bytes) { mpi::publish_written(from, bytes); });
  if (!elements.is_solid()) return Session::get().data().add(DataKind::Call, kNoError, {&size, 1}, runs_of(elements));
  const DataRun whole{elements.address, size};
  Session::get().data().add(DataKind::Call, kNoError, {&size, 1}, {&whole, 1});
}

void log_brought(const std::vector<Elements>& all) {
  if (all.empty() || !records()) return;
  std::vector<std::uint64_t> parts;
  std::vector<DataRun> runs;
  for (const Elements& one : all) {
    parts.push_back(one.bytes());
    one.visit([&](const std::uint8_t* from, std::size_t size) {
      mpi::publish_written(from, size);
      runs.push_back({from, size});
    });
  }
  Session::get().data().add(DataKind::Call, kNoError, parts, runs);
}

void bring_again(const Elements& elements) {
  if (elements.bytes() > 0) bring_again(std::vector<Elements>{elements});
}

void bring_again(const std::vector<Elements>& all) {
  if (all.empty()) return;
  const virtual_world::Outcome outcome = mpi::trace_provider().call();
  for (std::size_t i = 0; i < all.size() && i < outcome.parts.size(); ++i) write(all[i], outcome.parts[i]);
}

void log_sent(const Elements& elements, const Destination& where) {
  const virtual_world::Message sent = message_of(elements);
  const auto event = static_cast<std::int64_t>(Session::get().recorder().events()) - 1;
  const std::int64_t fields[] = {sent.bytes, sent.digest, event, where.access, where.pe, 0, static_cast<std::int64_t>(where.place)};
  Session::get().data().add(DataKind::Sent, fields, {}, {});
}

void compare_sent(const Elements& elements) {
  const virtual_world::Message recorded = mpi::trace_provider().sent();
  if (recorded != message_of(elements)) mpi::sends_other_bytes(elements.bytes(), runs_of(elements), recorded);
}

}  // namespace reprise::shmem
