// The manifest as JSON. The only file of trace/ that is compiled with exceptions, which the JSON library throws; none
// leaves it.
//
// The canonical form is the compact dump with sorted keys, without the checksum: two files with the same facts have
// the same canonical form, whatever their white space. Arguments of a command need not be UTF-8, which JSON demands:
// such a text is stored as {"hex": "..."}.
#define XXH_INLINE_ALL
#include "trace/manifest.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "trace/file_io.hpp"
#include "trace/format.hpp"

namespace reprise::trace {
namespace {

using nlohmann::json;

constexpr const char* kName = "manifest.json";
constexpr const char* kTemporaryName = "manifest.json.tmp";
constexpr std::size_t kMaxFile = 64u << 20;
constexpr std::size_t kMaxCommand = 65536;       // entries
constexpr std::size_t kMaxAppended = 16u << 20;  // exits, notes
constexpr std::size_t kMaxArgument = 1u << 20;   // bytes of one entry
constexpr int kMaxDepth = 4;
constexpr std::size_t kMaxValues = 4 * kMaxCommand;

struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] void refuse(const std::string& what) { throw Refusal(what); }
// What is wrong about the content is found in the parsed whole, so the offset is where the whole begins.
[[noreturn]] void refuse_content(const std::string& what) { refuse("damaged at offset 0: " + what); }

std::string hex64(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

std::string to_hex(const std::string& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

unsigned hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  refuse_content("a hexadecimal text holds another character");
}

std::string from_hex(const std::string& text) {
  if (text.size() % 2 != 0) refuse_content("a hexadecimal text is cut off");
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2)
    bytes += static_cast<char>(hex_digit(text[i]) << 4 | hex_digit(text[i + 1]));
  return bytes;
}

json text_to_json(const std::string& text) {
  try {
    json plain = text;
    static_cast<void>(plain.dump());  // throws where the text is not UTF-8
    return plain;
  } catch (const json::type_error&) {
    return json{{"hex", to_hex(text)}};
  }
}

json to_json(const Manifest& manifest) {
  json command = json::array();
  for (const std::string& argument : manifest.command) command.push_back(text_to_json(argument));
  json facts = {
      {"format", kFormatVersion},
      {"format-readable-from", kOldestReadable},
      {"trace-id", hex64(manifest.trace_id)},
      {"reprise-version", text_to_json(manifest.reprise_version)},
      {"command", command},
      {"working-directory", text_to_json(manifest.working_directory)},
      {"mpi", text_to_json(manifest.mpi)},
      {"mpi-library", text_to_json(manifest.mpi_library)},
      {"host", text_to_json(manifest.host)},
      {"architecture", text_to_json(manifest.architecture)},
      {"user", manifest.user},
      {"started", manifest.started},
      {"seconds", std::isfinite(manifest.seconds) ? manifest.seconds : 0.0},
      {"ranks", manifest.ranks},
      {"logs", manifest.logs},
      {"complete", manifest.complete},
      {"exit-status", manifest.exit_status},
      {"ended", text_to_json(manifest.ended)},
      {"exits", text_to_json(manifest.exits)},
      {"notes", text_to_json(manifest.notes)},
  };
  if (manifest.explored) facts["explored"] = true;
  return facts;
}

std::string checksum_of(const json& facts) {
  const std::string canonical = facts.dump();
  return hex64(XXH3_64bits(canonical.data(), canonical.size()));
}

const json& member(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) refuse_content(std::string("\"") + key + "\" is missing");
  return *found;
}

std::string text_from(const json& value, const std::string& name, std::size_t limit) {
  std::string text;
  if (value.is_string()) {
    text = value.get<std::string>();
  } else if (value.is_object() && value.size() == 1 && value.contains("hex") && value["hex"].is_string()) {
    text = from_hex(value["hex"].get<std::string>());
  } else {
    refuse_content("\"" + name + "\" is not a text");
  }
  if (text.size() > limit) refuse_content("\"" + name + "\" is too long");
  return text;
}

std::string text_member(const json& object, const char* key) { return text_from(member(object, key), key, kMaxText); }

template <class Int>
Int integer(const json& object, const char* key, std::int64_t least = std::numeric_limits<Int>::min(),
            std::int64_t most = std::numeric_limits<Int>::max()) {
  const json& value = member(object, key);
  if (!value.is_number_integer()) refuse_content(std::string("\"") + key + "\" is not an integer");
  const bool too_large = value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX};
  if (too_large || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
    refuse_content(std::string("\"") + key + "\" is out of range");
  return static_cast<Int>(value.get<std::int64_t>());
}

void check_version(const json& facts) {
  const auto version = integer<std::uint32_t>(facts, "format");
  const auto readable_from = integer<std::uint32_t>(facts, "format-readable-from");
  if (readable_from > kFormatVersion)
    refuse("written in trace format " + std::to_string(version) + ", which needs a reader of format " +
           std::to_string(readable_from) + " or newer; this Reprise reads up to format " +
           std::to_string(kFormatVersion) + ". Use a newer Reprise.");
}

std::uint64_t trace_id(const json& facts) {
  const std::string text = text_member(facts, "trace-id");
  if (text.size() != 16) refuse_content("\"trace-id\" is not 16 hexadecimal digits");
  std::uint64_t value = 0;
  for (const char c : text) value = value << 4 | hex_digit(c);
  return value;
}

Manifest from_json(json facts) {
  if (!facts.is_object()) refuse_content("it does not hold a JSON object");
  check_version(facts);
  const std::string stored = text_member(facts, "checksum");
  facts.erase("checksum");
  if (stored != checksum_of(facts)) refuse_content("the checksum does not fit the content");

  Manifest manifest;
  manifest.trace_id = trace_id(facts);
  manifest.reprise_version = text_member(facts, "reprise-version");
  const json& command = member(facts, "command");
  if (!command.is_array() || command.size() > kMaxCommand) refuse_content("\"command\" is not a list of arguments");
  for (const json& argument : command) manifest.command.push_back(text_from(argument, "command", kMaxArgument));
  manifest.working_directory = text_member(facts, "working-directory");
  manifest.mpi = text_member(facts, "mpi");
  manifest.mpi_library = text_member(facts, "mpi-library");
  manifest.host = text_member(facts, "host");
  manifest.architecture = text_member(facts, "architecture");
  manifest.user = integer<std::uint32_t>(facts, "user");
  manifest.started = integer<std::int64_t>(facts, "started");
  const json& seconds = member(facts, "seconds");
  if (!seconds.is_number()) refuse_content("\"seconds\" is not a number");
  manifest.seconds = seconds.get<double>();
  manifest.ranks = integer<std::uint32_t>(facts, "ranks", 0, kMaxRanks);
  manifest.logs = integer<std::uint32_t>(facts, "logs", 0, kMaxRanks);
  const json& complete = member(facts, "complete");
  if (!complete.is_boolean()) refuse_content("\"complete\" is not true or false");
  manifest.complete = complete.get<bool>();
  manifest.exit_status = integer<int>(facts, "exit-status");
  manifest.explored = facts.contains("explored") && facts["explored"] == true;
  manifest.ended = text_member(facts, "ended");
  manifest.exits = text_from(member(facts, "exits"), "exits", kMaxAppended);
  manifest.notes = text_from(member(facts, "notes"), "notes", kMaxAppended);
  return manifest;
}

// A few megabytes of "[[[[" would otherwise become gigabytes of values.
json parse(const std::string& text) {
  std::size_t values = 0;
  return json::parse(text, [&values](int depth, json::parse_event_t, json&) {
    if (depth > kMaxDepth || ++values > kMaxValues) refuse_content("it holds more than a manifest can");
    return true;
  });
}

std::string read_file(int dir_fd) {
  const Fd fd(open_file(dir_fd, kName, O_RDONLY));
  if (fd.get() < 0) refuse(std::string("cannot be read: ") + std::strerror(-fd.get()));
  std::string text;
  constexpr std::size_t kStep = 1u << 16;
  for (;;) {
    const std::size_t have = text.size();
    if (have > kMaxFile) refuse("it is larger than a manifest can be");
    text.resize(have + kStep);
    const std::int64_t got = read_all(fd.get(), text.data() + have, kStep, have);
    if (got < 0) refuse(std::string("cannot be read: ") + std::strerror(static_cast<int>(-got)));
    text.resize(have + static_cast<std::size_t>(got));
    if (static_cast<std::size_t>(got) < kStep) return text;
  }
}

void write_file(int dir_fd, const std::string& text) {
  const auto check = [](bool fine, int error) {
    if (!fine) refuse(std::string("cannot be written: ") + std::strerror(error));
  };
  remove_file(dir_fd, kTemporaryName);
  Fd fd(open_file(dir_fd, kTemporaryName, O_WRONLY | O_CREAT | O_EXCL));
  check(fd.get() >= 0, -fd.get());
  int error = write_all(fd.get(), text.data(), text.size(), 0);
  if (error == 0 && ::fsync(fd.get()) != 0) error = errno;
  if (error == 0 && ::renameat(dir_fd, kTemporaryName, dir_fd, kName) != 0) error = errno;
  if (error != 0) remove_file(dir_fd, kTemporaryName);
  check(error == 0, error);
  ::fsync(dir_fd);  // some file systems cannot; the rename stands all the same
}

// Runs `work`; whatever it throws becomes an Error.
template <class Work>
auto guarded(Work work) -> Result<decltype(work())> {
  try {
    if constexpr (std::is_void_v<decltype(work())>) {
      work();
      return {};
    } else {
      return work();
    }
  } catch (const Refusal& refusal) {
    return Error{std::string(kName) + ": " + refusal.what()};
  } catch (const json::parse_error& error) {
    return Error{std::string(kName) + ": damaged at offset " + std::to_string(error.byte) + ": it is not JSON"};
  } catch (const std::exception& error) {
    return Error{std::string(kName) + ": damaged at offset 0: " + error.what()};
  }
}

}  // namespace

Result<void> write_manifest(int dir_fd, const Manifest& manifest) {
  return guarded([&] {
    json facts = to_json(manifest);
    facts["checksum"] = checksum_of(facts);
    write_file(dir_fd, facts.dump(2) + "\n");
  });
}

Result<Manifest> read_manifest(int dir_fd) {
  return guarded([&] { return from_json(parse(read_file(dir_fd))); });
}

std::string manifest_digest(const Manifest& manifest) {
  const auto digest = guarded([&] {
    const std::string canonical = to_json(manifest).dump();
    const XXH128_hash_t hash = XXH3_128bits(canonical.data(), canonical.size());
    return hex64(hash.high64) + hex64(hash.low64);
  });
  return digest ? *digest : std::string();
}

}  // namespace reprise::trace
