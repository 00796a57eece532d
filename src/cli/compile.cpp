// `reprise cc`, `reprise c++`, `reprise fc`: the user's compiler, with hooks before each load and store.
//
// The hooks are those of the thread sanitizer, which gcc and clang have; in place of its library, ours is linked (runtime/access). So
// the flag is for the compiler only, and a command that compiles and links becomes several.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/capture.hpp"
#include "cli/commands.hpp"
#include "cli/compiler_words.hpp"
#include "cli/launch.hpp"
#include "cli/speech.hpp"
#include "cli/temporary_directory.hpp"

extern char** environ;

namespace reprise::cli {
namespace {

using Words = std::vector<std::string>;

struct Wrapper {
  const char* name;      // of the sub-command
  const char* compiler;  // that it wraps if none is named
  const char* example;
  Language language;
};
constexpr Wrapper kC{"cc", "mpicc", "app.c", Language::C};
constexpr Wrapper kCxx{"c++", "mpicxx", "app.cpp", Language::Cxx};
constexpr Wrapper kFortran{"fc", "mpifort", "app.f90", Language::Fortran};

void print_help(const Wrapper& wrapper) {
  fmt::print(
      "Usage: reprise {0} [--wrap COMPILER] COMPILER'S OWN WORDS...\n\n"
      "Compiles as {1} does (or the COMPILER that --wrap names: mpicc.mpich, oshcc, clang, ...), with hooks before each load and\n"
      "store, so that `reprise record --fidelity access` can follow programs that poll, race or share memory. Without that the\n"
      "program runs as usual, only slower. Use it for compiling and for linking.\n\n"
      "Example: reprise {0} -O2 -o app {2}\n"
      "With make and CMake: CC=\"reprise cc\" CXX=\"reprise c++\" FC=\"reprise fc\"\n",
      wrapper.name, wrapper.compiler, wrapper.example);
}

// --- what would not work ------------------------------------------------------------------------------------------

bool asks_for_thread_sanitizer(const std::string& word) {
  constexpr std::string_view kOption = "-fsanitize=";
  if (word == "-ltsan" || word == "-static-libtsan") return true;
  if (!word.starts_with(kOption)) return false;
  const Words kinds = split(word.substr(kOption.size()), ',');
  return std::find(kinds.begin(), kinds.end(), "thread") != kinds.end();
}

// Of gcc's intermediate code its sections tell; clang's is no ELF file.
bool is_for_link_time_optimisation(const std::string& path) {
  constexpr std::size_t kLimit = 256u << 20;
  const auto content = read_file_at(AT_FDCWD, path, kLimit, true);
  if (!content) return false;
  return content->starts_with("BC\xc0\xde") || content->find(".gnu.lto_.") != content->npos;
}

void refuse_what_removes_hooks(const Wrapper& wrapper, const CompilerWords& words) {
  for (const std::string& word : words.all) {
    if (asks_for_thread_sanitizer(word))
      fail("{}: {} links the thread sanitizer, whose hooks would be called in place of ours; leave it out", wrapper.name, printable(word));
    if (word.starts_with("-flto")) fail("{}: {}: link-time optimisation removes the hooks; leave it out", wrapper.name, printable(word));
  }
  if (!words.links) return;
  for (const std::size_t index : words.objects)
    if (is_for_link_time_optimisation(words.all[index]))
      fail("{}: {} was compiled with -flto: link-time optimisation removes the hooks; compile it without", wrapper.name, printable(words.all[index]));
}

// --- what is added ------------------------------------------------------------------------------------------------

bool is_clang(const std::string& compiler) {
  using namespace std::chrono_literals;
  const auto version = capture({compiler, "--version"}, {}, 20s);
  return version && version->find("clang") != version->npos;
}

Words hooks(const Wrapper& wrapper, const std::string& compiler) {
  // The program is not to know: some code is another with the sanitizer.
  Words added{"-fsanitize=thread", "-fno-lto"};  // an MPI's wrapper may bring it
  if (wrapper.language != Language::Fortran) added.insert(added.end(), {"-U__SANITIZE_THREAD__", "-fno-builtin-memcpy", "-fno-builtin-memmove", "-fno-builtin-memset"});
  if (is_clang(compiler)) added.insert(added.end(), {"-mllvm", "-tsan-instrument-read-before-write=1", "-Wno-unused-command-line-argument"});
  return added;
}

Words runtime() {
  std::string wrapped = "-Wl";
  for (const char* const name : {"memcpy", "memmove", "memset", "__memcpy_chk", "__memmove_chk", "__memset_chk"}) wrapped += fmt::format(",--wrap={}", name);
  return {"-fno-lto", wrapped, value_or_fail(find_access_runtime()), "-ldl"};
}

// --- running it ---------------------------------------------------------------------------------------------------

std::vector<char*> c_strings(Words& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

[[noreturn]] void become(Words command) {
  const std::vector<char*> words = c_strings(command);
  ::execvp(words[0], words.data());
  throw UserError(fmt::format("cannot run {}: {}", printable(command[0]), error_text(errno)), errno == ENOENT ? kNotFound : kNotRunnable);
}

int run(Words command) {
  const std::vector<char*> words = c_strings(command);
  pid_t child = 0;
  if (const int error = ::posix_spawnp(&child, words[0], nullptr, nullptr, words.data(), environ))
    throw UserError(fmt::format("cannot run {}: {}", printable(command[0]), error_text(error)), error == ENOENT ? kNotFound : kNotRunnable);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) fail("cannot wait for {}: {}", printable(command[0]), error_text(errno));
  return exit_code(status);
}

void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

int compile_and_link(const Wrapper& wrapper, const std::string& compiler, const CompilerWords& words) {
  const TemporaryDirectory directory;
  const Words added = hooks(wrapper, compiler);
  Words link{compiler};
  append(link, words.all);
  for (const std::size_t source : words.sources) {
    const std::string object = fmt::format("{}/{}.o", directory.path(), source);
    Words compile{compiler};
    append(compile, added);
    append(compile, words_to_compile(words, source, object));
    if (const int status = run(compile); status != 0) return status;
    link[source + 1] = object;
  }
  // A language that is given for all files would be taken for that of the objects.
  for (std::size_t i = 1; i < link.size();) {
    const std::size_t count = link[i] == "-x" ? 2 : link[i].starts_with("-x") ? 1 : 0;
    if (count == 0) ++i;
    else link.erase(link.begin() + static_cast<std::ptrdiff_t>(i), link.begin() + static_cast<std::ptrdiff_t>(std::min(i + count, link.size())));
  }
  append(link, runtime());
  return run(link);
}

int compile(const Wrapper& wrapper, int argc, char** argv) {
  Words own(argv + 1, argv + argc);
  if (own.empty() || own[0] == "-h" || own[0] == "--help") {
    print_help(wrapper);
    return own.empty() ? kTrouble : 0;
  }
  std::string compiler = wrapper.compiler;
  if (own[0] == "--wrap") {
    if (own.size() < 2) fail("{}: --wrap COMPILER: which one? For example: reprise {} --wrap {} -c {}", wrapper.name, wrapper.name, wrapper.compiler, wrapper.example);
    compiler = own[1];
    own.erase(own.begin(), own.begin() + 2);
  } else if (own[0].starts_with("--wrap=")) {
    compiler = own[0].substr(7);
    own.erase(own.begin());
  }
  if (find_program(compiler).empty())
    throw UserError(fmt::format("{}: there is no {}; --wrap names another compiler", wrapper.name, printable(compiler)), kNotFound);
  const CompilerWords words = understand(with_files_of_words(own));
  refuse_what_removes_hooks(wrapper, words);
  if (words.links && !words.sources.empty()) return compile_and_link(wrapper, compiler, words);
  Words command{compiler};
  if (!words.sources.empty()) append(command, hooks(wrapper, compiler));
  append(command, own);
  if (words.links) append(command, runtime());
  become(std::move(command));
}

}  // namespace

int cc_command(int argc, char** argv) { return compile(kC, argc, argv); }
int cxx_command(int argc, char** argv) { return compile(kCxx, argc, argv); }
int fc_command(int argc, char** argv) { return compile(kFortran, argc, argv); }

}  // namespace reprise::cli
