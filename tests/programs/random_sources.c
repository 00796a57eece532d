// Every source of random bytes that a C program has, and the numbers of processes, before and after MPI_Init.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>

#include "common.h"

static char early[2000];

static void keep(char* text, const char* what, const void* bytes, size_t size) {
  text += strlen(text);
  text += sprintf(text, " %s ", what);
  for (size_t i = 0; i < size; ++i) text += sprintf(text, "%02x", ((const unsigned char*)bytes)[i]);
}

static void from_descriptor(char* text, const char* path, int at) {
  unsigned char bytes[12];
  int fd = at ? openat(AT_FDCWD, path, O_RDONLY) : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || read(fd, bytes, sizeof bytes) != (ssize_t)sizeof bytes) die(path);
  keep(text, path, bytes, sizeof bytes);
  close(fd);
  // The same number for another file: what is read from it is not random.
  fd = open("/proc/self/comm", O_RDONLY);
  char name[64] = "";
  const ssize_t size = read(fd, name, sizeof name - 1);
  if (size < 1) die("/proc/self/comm");
  name[size - 1] = '\0';
  sprintf(text + strlen(text), " of %s", name);
  close(fd);
}

static void from_stream(char* text, const char* mode) {
  unsigned char bytes[9];
  FILE* file = fopen("/dev/urandom", mode);
  if (!file || fread(bytes, 1, sizeof bytes, file) != sizeof bytes) die("fread");
  keep(text, "fread", bytes, sizeof bytes);
  bytes[0] = (unsigned char)fgetc(file);
  if (read(fileno(file), bytes + 1, 3) != 3) die("read(fileno)");
  keep(text, "more", bytes, 4);
  if (fclose(file)) die("fclose");
  file = fdopen(open("/dev/urandom", O_RDONLY), mode);
  setvbuf(file, NULL, _IONBF, 0);
  if (!file || fread(bytes, 1, sizeof bytes, file) != sizeof bytes) die("fdopen");
  keep(text, "fdopen", bytes, sizeof bytes);
  fclose(file);
}

static void all_sources(char* text) {
  unsigned char bytes[20];
  if (getrandom(bytes, sizeof bytes, GRND_NONBLOCK) != (ssize_t)sizeof bytes) die("getrandom");
  keep(text, "getrandom", bytes, sizeof bytes);
  if (getentropy(bytes, sizeof bytes)) die("getentropy");
  keep(text, "getentropy", bytes, sizeof bytes);
  if (getentropy(bytes, 1000000) == 0) die("a megabyte of entropy");
  sprintf(text + strlen(text), " (%m)");
  arc4random_buf(bytes, sizeof bytes);
  keep(text, "arc4random", bytes, sizeof bytes);
  sprintf(text + strlen(text), " %u %u", (unsigned)arc4random(), (unsigned)arc4random_uniform(1000000));
  from_descriptor(text, "/dev/urandom", 0);
  from_descriptor(text, "/dev/random", 1);
  from_stream(text, "rb");
  from_stream(text, "re");
  sprintf(text + strlen(text), " pid %d parent %d thread %d", (int)getpid(), (int)getppid(), (int)gettid());
}

// More than one record holds.
static void many_bytes(void) {
  enum { kSize = 300000 };
  unsigned char* bytes = malloc(kSize);
  int fd = open("/dev/urandom", O_RDONLY);
  if (fd < 0 || read(fd, bytes, kSize) != kSize) die("/dev/urandom");
  for (int i = 0; i < kSize; ++i) fold(bytes[i]);
  say("%d bytes: %016llx", kSize, (unsigned long long)digest);
  close(fd);
  free(bytes);
}

int main(int argc, char** argv) {
  all_sources(early);
  start(&argc, &argv);
  say("early%s", early);
  for (int i = 0; i < 3; ++i) {
    char text[2000] = "";
    all_sources(text);
    say("%d:%s", i, text);
  }
  many_bytes();
  // Is one's own number good for a signal?
  if (kill(getpid(), 0)) die("kill");
  finish();
}
