// Runs `reprise` commands one after the other, each in a copy of this process: a test that needs thousands of them
// would otherwise spend its time in loading programs.
//
// Reads, per command, one line with its words, separated by tabs. Writes, per command, "STATUS OUT ERR\n" (the numbers
// of bytes of its standard output and standard error; a status of -N is signal N), and then these bytes.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "cli/commands.hpp"

namespace {

constexpr unsigned kSecondsAtMost = 30;

std::string contents(int fd) {
  std::string text(static_cast<std::size_t>(lseek(fd, 0, SEEK_END)), '\0');
  if (pread(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) std::abort();
  close(fd);
  return text;
}

[[noreturn]] void run(std::string& line, int out, int err) {
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  alarm(kSecondsAtMost);
  std::vector<char*> words;
  char* word = line.data();
  for (char& c : line) {
    if (c != '\t') continue;
    c = '\0';
    words.push_back(word);
    word = &c + 1;
  }
  words.push_back(word);
  words.push_back(nullptr);
  std::exit(reprise::cli::run_command_line(static_cast<int>(words.size()) - 1, words.data()));
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const int out = memfd_create("out", MFD_CLOEXEC);
    const int err = memfd_create("err", MFD_CLOEXEC);
    const pid_t pid = fork();
    if (pid == 0) run(line, out, err);
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return 1;
    const std::string said[] = {contents(out), contents(err)};
    std::printf("%d %zu %zu\n", WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status), said[0].size(),
                said[1].size());
    for (const std::string& text : said) std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
}
