// For programs that do one thing after the other, those that their arguments name, each with a heading and a digest of its own.
#ifndef TESTS_PROGRAMS_KINDS_H
#define TESTS_PROGRAMS_KINDS_H

#include "common.h"

struct kind {
  const char* name;
  void (*run)(void);
};

static void run_kinds(int argc, char** argv, const struct kind* kinds, size_t count, void (*tell)(void)) {
  for (int word = 2; word < argc; ++word) {
    size_t found = 0;
    while (found < count && strcmp(kinds[found].name, argv[word])) ++found;
    if (found == count) die("no such kind");
    digest = EMPTY_DIGEST;
    say("-- %s", argv[word]);
    kinds[found].run();
    tell();
  }
}

#endif
