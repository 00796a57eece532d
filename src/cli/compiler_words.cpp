#include "cli/compiler_words.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "base/process.hpp"

namespace reprise::cli {
namespace {

// Options whose value is the next word.
constexpr std::array<std::string_view, 39> kWithValue = {
    "-o",       "-x",       "-I",         "-L",      "-l",      "-D",      "-U",       "-J",       "-B",           "-T",
    "-u",       "-z",       "-e",         "-A",      "-F",      "-G",      "-h",       "-R",       "-include",     "-imacros",
    "-isystem", "-iquote",  "-idirafter", "-iprefix", "-isysroot", "-iwithprefix", "-iwithprefixbefore", "-MF",  "-MT",  "-MQ",
    "-Xlinker", "-Xassembler", "-Xpreprocessor", "-Xclang", "-mllvm", "--param", "-target", "-arch", "-framework"};

constexpr std::array<std::string_view, 26> kSources = {"c",   "i",   "cc",  "cp",  "cxx", "cpp", "CPP", "c++", "C",   "ii",  "f",   "for", "ftn",
                                                       "f90", "f95", "f03", "f08", "F",   "FOR", "fpp", "FPP", "FTN", "F90", "F95", "F03", "F08"};
// Those that end before anything is linked, and those that only ask the compiler something.
constexpr std::array<std::string_view, 7> kWithoutLinking = {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-r"};
// What only the linker wants to know.
constexpr std::array<std::string_view, 6> kForLinker = {"-shared", "-static", "-rdynamic", "-pie", "-no-pie", "-static-libgcc"};

template <std::size_t kCount>
bool is_one_of(std::string_view word, const std::array<std::string_view, kCount>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string_view extension(std::string_view file) {
  const std::size_t slash = file.rfind('/');
  const std::size_t dot = file.rfind('.');
  return dot == file.npos || (slash != file.npos && dot < slash) ? std::string_view() : file.substr(dot + 1);
}

bool is_for_linker(std::string_view word) {
  return is_one_of(word, kForLinker) || word.starts_with("-l") || word.starts_with("-Wl,");
}

}  // namespace

std::vector<std::string> words_of_file(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      inside = true;
    } else if (quote != 0) {
      if (c == quote) quote = 0;
      else word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      inside = true;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      if (inside) words.push_back(std::exchange(word, {}));
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (inside) words.push_back(word);
  return words;
}

std::vector<std::string> with_files_of_words(const std::vector<std::string>& words) {
  constexpr std::size_t kLimit = 16u << 20;
  std::vector<std::string> all;
  for (const std::string& word : words) {
    const auto content = word.starts_with('@') ? read_file_at(AT_FDCWD, word.substr(1), kLimit, true) : Result<std::string>(Error{});
    if (!content) {
      all.push_back(word);
      continue;
    }
    const std::vector<std::string> more = words_of_file(*content);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

CompilerWords understand(const std::vector<std::string>& words) {
  CompilerWords known;
  known.all = words;
  bool language_is_given = false;  // by -x: then any file is a source
  bool ends_early = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (is_one_of(word, kWithValue)) {
      if (word == "-x" && i + 1 < words.size()) {
        language_is_given = words[i + 1] != "none";
        ends_early |= words[i + 1].ends_with("-header");
      }
      ++i;
      continue;
    }
    if (word.starts_with("-x")) language_is_given = word != "-xnone";
    ends_early |= is_one_of(word, kWithoutLinking);
    if (word.starts_with('-') && word != "-") continue;
    (language_is_given || is_one_of(extension(word), kSources) ? known.sources : known.objects).push_back(i);
  }
  known.links = !ends_early && !(known.sources.empty() && known.objects.empty());
  return known;
}

std::vector<std::string> words_to_compile(const CompilerWords& words, std::size_t source, const std::string& object) {
  std::vector<std::string> own;
  for (std::size_t i = 0; i < words.all.size(); ++i) {
    const std::string& word = words.all[i];
    const auto is_in = [&](const std::vector<std::size_t>& list) { return std::find(list.begin(), list.end(), i) != list.end(); };
    if (word == "-o" || word == "-Xlinker" || word == "-l") {
      ++i;
      continue;
    }
    if (is_for_linker(word) || is_in(words.objects) || (is_in(words.sources) && i != source)) continue;
    own.push_back(word);
    if (is_one_of(word, kWithValue) && i + 1 < words.all.size()) own.push_back(words.all[++i]);
  }
  own.insert(own.end(), {"-c", "-o", object});
  // Dependencies are those of what is linked, and beside it.
  const auto has = [&](std::string_view option) { return std::find(own.begin(), own.end(), option) != own.end(); };
  if ((has("-MD") || has("-MMD")) && !has("-MF")) {
    const auto output = std::find(words.all.begin(), words.all.end(), "-o");
    const std::string target = output != words.all.end() && output + 1 != words.all.end() ? output[1] : "a.out";
    const std::string& file = words.all[source];
    const std::size_t slash = file.rfind('/');
    const std::string stem = file.substr(slash == file.npos ? 0 : slash + 1, file.rfind('.') - (slash == file.npos ? 0 : slash + 1));
    own.insert(own.end(), {"-MF", words.sources.size() == 1 ? target + ".d" : target + "-" + stem + ".d"});
    if (!has("-MT") && !has("-MQ")) own.insert(own.end(), {"-MT", target});
  }
  return own;
}

}  // namespace reprise::cli
