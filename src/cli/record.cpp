// reprise record: runs a command with the preload library in all its ranks and leaves a trace.
//
// Whatever happens to the program, the trace is closed properly afterwards: open chunks of dead ranks are sealed, and
// the manifest says how the run ended. Whatever happens to Reprise, the program's result and exit status are its own.
#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <set>

#include "analyze/number_set.hpp"
#include "analyze/run_end.hpp"
#include "base/elf.hpp"
#include "base/text.hpp"
#include "cli/choose_mpi.hpp"
#include "cli/commands.hpp"
#include "cli/deadlock_watch.hpp"
#include "cli/job.hpp"
#include "cli/launch.hpp"
#include "cli/leftovers.hpp"
#include "cli/libraries.hpp"
#include "cli/nodes.hpp"
#include "cli/options.hpp"
#include "cli/record.hpp"
#include "cli/run_manifest.hpp"
#include "cli/speech.hpp"
#include "cli/trace_dir.hpp"
#include "cli/trace_notes.hpp"
#include "trace/chunk_writer.hpp"

namespace reprise::cli {

namespace {

// Launchers note the children that they reap in `exits`; these are the ones that came to us.
void note_exits(int dir_fd, const Job& job) {
  const UniqueFd fd(::openat(dir_fd, "exits", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!fd) return;
  std::string lines;
  for (const Job::Reaped& child : job.reaped())
    lines += analyze::exit_line({host_name(), child.pid, child.wait_status, child.pid == job.pid()});
  if (::write(fd.get(), lines.data(), lines.size()) < 0)
    say("how the ranks ended could not be noted: {}", error_text(errno));
}

bool disk_is_full(int dir_fd) {
  struct statvfs info {};
  return ::fstatvfs(dir_fd, &info) == 0 && info.f_bavail * info.f_frsize < trace::kOpenFileSize;
}

// No rank was seen: there is nothing to keep, and the user must learn why.
int nothing_recorded(const NewTrace& trace, const std::vector<std::string>& command, const FoundMpi& found,
                     int launcher_status) {
  const auto notes = read_trace_notes(trace.fd.get(), {});
  const auto problem =
      std::find_if(notes.begin(), notes.end(), [](const TraceNote& note) { return note.key == "problem"; });
  const bool full = disk_is_full(trace.fd.get());
  discard(trace);
  if (problem != notes.end() || full) {
    say("nothing was recorded: {}; the program itself ended with {}",
        problem != notes.end() ? printable(problem->text) : "the disk is full", status_words(launcher_status));
    return kTrouble;
  }
  const bool mismatch =
      !found.launcher_mpi.empty() && !found.program_mpi.empty() && found.launcher_mpi != found.program_mpi;
  if (launcher_status != 0 && !mismatch && !found.program_is_static) {
    say("nothing was recorded: the command ended ({}) before any rank called MPI_Init", status_words(launcher_status));
    return exit_code(launcher_status);
  }
  say("nothing was recorded, no rank was seen: {}", why_nothing_seen(command, found));
  say("next: reprise doctor -- {}", printable(shell_words(command)));
  return kTrouble;
}

// A program without MPI that made no thread and read no clock: there is nothing in its run that could be another way.
bool made_no_call(const analyze::RunEnd& end) {
  return std::all_of(end.ranks.begin(), end.ranks.end(), [](const auto& rank) { return rank.calls == 0; });
}

void name_gaps(const analyze::RunEnd& end) {
  for (const analyze::RankEnd& rank : end.ranks)
    if (!rank.trouble.empty()) say("the log of rank {} is not readable: {}", rank.rank, rank.trouble);
  if (!end.missing.empty())
    say("not recorded: rank {} of {} (never seen; see reprise doctor)", number_ranges(end.missing), end.world);
  for (const std::uint32_t rank : end.stopped) {
    const auto at = std::find_if(end.ranks.begin(), end.ranks.end(), [&](const auto& r) { return r.rank == rank; });
    say("recording of rank {} stopped early, after {}: {}", rank, counted(at->calls, "call"),
        error_text(at->end.value));
  }
}

// What the ranks noted, each thing once.
void name_notes(const std::vector<TraceNote>& notes) {
  std::set<std::string> named;
  for (const TraceNote& note : notes) {
    if (!named.insert(note.key + note.text).second) continue;
    if (note.key == "deadlock" || note.key == "shadow" || note.key == "node" || note.key.starts_with("finding")) continue;
    if (note.key == "unsupported")
      say("recorded, but its outcome cannot be forced in a replay yet: {}", printable(note.text));
    else if (note.key == "not-replayable")
      say("this run cannot be replayed: {} (rank {})", printable(note.text), note.rank);
    else if (note.key == "not-solo") say("ranks cannot be replayed alone: {}", not_solo_text(note));
    else say("rank {}: {}", note.rank, printable(note.text));
  }
}

// The run is over: what many processes appended to goes where the manifest's checksum covers it.
bool take_in(int dir_fd, const char* name, std::string& into) {
  constexpr std::size_t kLimit = 8u << 20;
  const auto content = read_file_at(dir_fd, name, kLimit, false);
  if (content) into = *content;
  return static_cast<bool>(content);
}

void summarise(const analyze::RunEnd& end, const trace::Manifest& manifest, const NewTrace& trace, const std::string& how) {
  std::uint64_t calls = 0;
  std::vector<std::uint32_t> ranks;
  for (const analyze::RankEnd& rank : end.ranks) {
    calls += rank.calls;
    ranks.push_back(rank.rank);
  }
  std::string who = counted(ranks.size(), "rank");
  if (manifest.mpi == kMcapi) {
    const NodeTotals totals = totals_of_nodes(trace.fd.get(), manifest, ranks);
    who = counted(totals.nodes, "node");
    calls = totals.calls;
  }
  say("recorded {}, {}, {} in {}{}", who, counted(calls, "call"),
      human_bytes(trace_size(trace.fd.get())), printable(trace.path), how);
  say("next: reprise replay{}", trace.in_home ? "" : " " + shell_words({trace.path}));
}

// Space for the last words about a run that fills the disk: given back just before they are written.
constexpr const char* kRoom = "room";

void keep_room(int dir_fd) {
  constexpr off_t kBytes = 256 << 10;
  const UniqueFd fd(::openat(dir_fd, kRoom, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (fd && ::posix_fallocate(fd.get(), 0, kBytes) != 0) ::unlinkat(dir_fd, kRoom, 0);
}

// For the preload library: "all", or numbers and ranges that have both ends.
std::string ranks_in_full(const std::string& text) {
  if (text.empty() || text == "all") return text;
  const analyze::NumberSet ranks = value_or_fail(analyze::NumberSet::parse(text));
  std::string full;
  for (const auto& [first, last] : ranks.ranges())
    full += fmt::format("{}{}-{}", full.empty() ? "" : ",", first, std::min<std::uint64_t>(last, trace::kMaxRanks));
  return full;
}

constexpr const char* kAccessSection = ".reprise_access";  // runtime/access/hooks.cpp

bool is_compiled_with_hooks(const std::string& program) {
  if (elf_has_section(program, kAccessSection)) return true;
  const auto elf = read_elf(program);
  if (!elf) return false;
  const LibrarySearch search;
  return std::any_of(elf->needed.begin(), elf->needed.end(), [&](const std::string& soname) {
    const std::string library = search.resolve(soname, program, *elf, {});
    return !library.empty() && elf_has_section(library, kAccessSection);
  });
}

void refuse_access_fidelity(const FoundMpi& found, const RecordOptions& options) {
  if (options.data.empty()) fail("record: --fidelity access is for ranks whose values are recorded, too: add --data all, or --data RANKS");
  if (found.mpi == kMcapi || found.mpi == kNoMpi) fail("record: --fidelity access is for programs with one-sided communication, and this one has no MPI");
  if (found.program_path.empty() || found.program_is_script) return;  // the ranks will see
  const auto elf = read_elf(found.program_path);
  const bool has_sanitizer =
      elf && std::any_of(elf->needed.begin(), elf->needed.end(), [](const std::string& name) { return name.starts_with("libtsan."); });
  if (has_sanitizer || elf_defines(found.program_path, "__tsan_on_report"))
    fail("record: {} has the thread sanitizer in it, whose hooks are called in place of ours: compile it without, by `reprise cc`", printable(found.program_path));
  if (!is_compiled_with_hooks(found.program_path))
    fail("record: {} was not compiled with hooks before its loads and stores: compile and link it with `reprise cc`, or leave --fidelity access out",
         printable(found.program_path));
}

}  // namespace

RecordedTrace record(const std::vector<std::string>& command, const RecordOptions& options) {
  const ChosenMpi mpi = choose_mpi(command, options.mpi);
  for (const auto& [name, value] : {std::pair("--mode", &options.mode), std::pair("--identify", &options.identify)})
    if (!value->empty() && mpi.found.mpi != kMcapi) fail("record: {} is for MCAPI programs, and this one uses {}", name, mpi_title(mpi.found.mpi));
  if (options.fidelity == "access") refuse_access_fidelity(mpi.found, options);
  const NewTrace trace = make_trace_directory(options.directory, trace_name(command, mpi.found));
  const int dir_fd = trace.fd.get();
  trace::Manifest manifest = describe_run(command, mpi.found.mpi);
  value_or_fail(trace::write_manifest(dir_fd, manifest));
  remember(manifest);
  keep_room(dir_fd);
  set_latest(trace);

  Variables settings{
      {"REPRISE_MODE", "record"}, {"REPRISE_DIR", trace.absolute}, {"REPRISE_TRACE_ID", hex(manifest.trace_id)}};
  if (!options.data.empty()) {
    // Nodes of MCAPI may be threads, so every process may have one of them.
    const bool nodes = mpi.found.mpi == kMcapi;
    settings.emplace_back("REPRISE_DATA", nodes ? "all" : ranks_in_full(options.data));
    if (nodes) settings.emplace_back("REPRISE_DATA_NODES", ranks_in_full(options.data));
  }
  if (options.fidelity == "access") settings.emplace_back("REPRISE_FIDELITY", options.fidelity);
  if (options.max_size > 0) settings.emplace_back("REPRISE_DATA_LIMIT", std::to_string(options.max_size));
  if (is_followed_from_start(mpi.found)) settings.emplace_back("REPRISE_ALONE", "1");
  if (mpi.found.mpi == kMcapi) settings.emplace_back("REPRISE_NODES", "1");
  if (!options.identify.empty()) settings.emplace_back("REPRISE_IDENTIFY", options.identify);
  if (options.mode == "sender") {
    make_arrivals(dir_fd);
    settings.emplace_back("REPRISE_ARRIVALS", trace.absolute + "/" + kArrivals);
  }
  if (options.checks) settings.emplace_back("REPRISE_CHECKS", "1");
  if (options.flow) settings.emplace_back("REPRISE_FLOW", options.no_flow_messages ? "2" : "1");
  if (options.no_deadlocks) settings.emplace_back("REPRISE_DEADLOCKS", "0");
  if (options.no_osc_rdma) settings.emplace_back("OMPI_MCA_osc", "^rdma");
  std::string library = options.checks || options.flow ? with_heap_library(mpi.preload_library) : mpi.preload_library;
  if (options.movements) {
    library = with_movements_library(library);
    for (auto& setting : settings_for_visible_copies()) settings.push_back(std::move(setting));
  }
  const Launch launch = prepare_launch(command, mpi.found, library, settings);
  const auto started = std::chrono::steady_clock::now();
  int status = 0;
  analyze::Exit launcher;
  std::vector<std::uint32_t> living;
  std::optional<DeadlockWatch> watch;
  try {
    Job job = Job::start({launch.command, launch.environment, {}, {}});
    watch.emplace(dir_fd);
    status = job.wait();
    watch->stop();
    manifest.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    living = collect_leftovers(job, status, dir_fd, manifest.trace_id);
    note_exits(dir_fd, job);
    launcher = {manifest.host, job.pid(), status, true};
  } catch (const UserError&) {
    discard(trace);
    throw;
  }

  ::unlinkat(dir_fd, kRoom, 0);
  seal_ranks(dir_fd, manifest.trace_id, living);
  const auto ranks = ranks_with_logs(dir_fd);
  if (ranks.empty()) {
    say_deadlocks(watch->unsaid(read_trace_notes(dir_fd, manifest)));  // before MPI_Init
    return {"", nothing_recorded(trace, command, mpi.found, status)};
  }
  const analyze::RunEnd end = analyze::read_run_end(dir_fd, manifest, ranks, launcher);
  if (mpi.found.mpi == kNoMpi && made_no_call(end)) {
    for (const std::string& name : trace_files(dir_fd))
      if (name.starts_with("rank-")) ::unlinkat(dir_fd, name.c_str(), 0);
    return {"", nothing_recorded(trace, command, mpi.found, status)};
  }
  manifest.ranks = std::max<std::uint32_t>(end.world, ranks.back() + 1);
  manifest.logs = static_cast<std::uint32_t>(ranks.size());
  manifest.mpi_library = mpi_library_of(dir_fd, manifest.trace_id, ranks.front());
  manifest.complete = true;
  manifest.exit_status = exit_code(status);
  manifest.ended = end.words;
  const bool has_exits = take_in(dir_fd, "exits", manifest.exits);
  const bool has_notes = take_in(dir_fd, "notes", manifest.notes);
  const std::vector<TraceNote> notes = read_trace_notes(dir_fd, manifest);
  if (const auto written = trace::write_manifest(dir_fd, manifest); !written) {
    say("the manifest could not be completed: {}", written.error().what);
  } else {
    if (has_exits) ::unlinkat(dir_fd, "exits", 0);
    if (has_notes) ::unlinkat(dir_fd, "notes", 0);
  }
  remember(manifest);
  name_gaps(end);
  name_notes(notes);
  if (const auto unsaid = watch->unsaid(notes); !unsaid.empty()) say_deadlocks(unsaid);
  if (!options.quiet) summarise(end, manifest, trace, status == 0 ? "" : " (" + end.words + ")");
  return {trace.path, exit_code(status)};
}

int record_command(int argc, char** argv) {
  RecordOptions options;
  OptionParser parser("record",
                      "Runs a command and records what its ranks do, so that `reprise replay` can repeat it exactly.\n"
                      "The exit status is the command's own (128+N if it was ended by signal N).",
                      "[OPTIONS] -- COMMAND...\n\n"
                      "Example: reprise record -- mpirun -n 4 ./app input.txt");
  parser.option("-o,--output", options.directory, "Directory for the trace (default: ./reprise.d/NAME-K)", "DIR");
  parser.mpi_option(options.mpi);
  parser
      .option("--data", options.data,
              "Record the values that reach these ranks, too, so that each can be replayed alone", "all|RANKS")
      .checked([](const std::string& text) {
        if (text == "all") return std::string();
        const auto ranks = analyze::NumberSet::parse(text);
        return ranks ? std::string() : ranks.error().what;
      });
  parser
      .option("--max-size", options.max_size, "With --data: stop recording values after so many bytes per thread",
              "BYTES")
      .bytes();
  parser
      .option("--fidelity", options.fidelity,
              "With --data: what others write to a rank's memory is followed at synchronisations (sync, the default), or at each load of a "
              "program that was compiled with `reprise cc` (access)",
              "sync|access")
      .one_of({"sync", "access"});
  parser
      .option("--mode", options.mode, "MCAPI: keep the order at each node (receiver, the default), or one of all arrivals, too (sender)",
              "receiver|sender")
      .one_of({"receiver", "sender"});
  parser
      .option("--identify", options.identify,
              "MCAPI: know messages by what the library says of them (origin, the default where it does), by a trailer that is sent with them "
              "(the default elsewhere), or by a digest of their bytes",
              "origin|trailer|digest")
      .one_of({"origin", "trailer", "digest"});
  parser.flag("--no-osc-rdma", options.no_osc_rdma, "Open MPI: do without osc/rdma, which crashes in some one-sided programs (reprise doctor)");
  parser.flag("--no-deadlock-check", options.no_deadlocks,
              "Do not look for deadlocks among the threads of a rank, and let a rank hang that is in one");
  parser.flag("-q,--quiet", options.quiet, "No closing summary");
  const CommandLine line = split_command_line(argc, argv);
  if (!line.separated && !line.own.empty() && !line.own.front().starts_with('-'))
    fail("record: the command goes after \"--\": reprise record -- {}", printable(shell_words(line.own)));
  if (const auto status = parser.parse(line.own)) return *status;
  if (line.command.empty()) fail("record: which command? For example: reprise record -- mpirun -n 4 ./app");
  return record(line.command, options).exit_status;
}

}  // namespace reprise::cli
