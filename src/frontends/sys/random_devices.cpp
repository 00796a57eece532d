// /dev/urandom and /dev/random, read as files.
//
// A descriptor that the program got for one of them is marked; reads from marked descriptors are looked at more
// closely, and are the only reads that pay anything. The mark may be stale (closed, and the number used again), so the
// device is checked each time. The C library's streams read by a system call of their own that nobody can stand in
// front of, so they are replaced by streams whose reads are ours.
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "frontends/sys/load.hpp"
#include "frontends/sys/next.hpp"
#include "frontends/sys/read.hpp"

using namespace reprise::sys;

namespace {

using Open = int(const char*, int, ...);
using OpenAt = int(int, const char*, int, ...);
constinit Next<Open> g_open{"open"};
constinit Next<Open> g_open64{"open64"};
constinit Next<OpenAt> g_openat{"openat"};
constinit Next<OpenAt> g_openat64{"openat64"};
constinit Next<int(const char*, int)> g_open_2{"__open_2"};
constinit Next<int(const char*, int)> g_open64_2{"__open64_2"};
constinit Next<int(int, const char*, int)> g_openat_2{"__openat_2"};
constinit Next<int(int, const char*, int)> g_openat64_2{"__openat64_2"};
constinit Next<FILE*(const char*, const char*)> g_fopen{"fopen"};
constinit Next<FILE*(const char*, const char*)> g_fopen64{"fopen64"};
constinit Next<FILE*(int, const char*)> g_fdopen{"fdopen"};
constinit Next<ssize_t(int, void*, std::size_t)> g_read{"read"};
constinit Next<ssize_t(int, void*, std::size_t, std::size_t)> g_read_chk{"__read_chk"};

constexpr int kDescriptors = 4096;
std::atomic<std::uint64_t> g_marked[kDescriptors / 64];
std::atomic<bool> g_any_marked{false};

bool is_random_device(const char* path) {
  return strncmp(path, "/dev/", 5) == 0 && (strcmp(path + 5, "urandom") == 0 || strcmp(path + 5, "random") == 0);
}

bool is_programs_now(const void* caller) {
  const Mode mode = mode_for(caller);
  if (mode == Mode::Passive) return false;
  reprise::frontends::t_inside = false;
  return true;
}

// After the call, because only then the path is known to be one.
int opened(int fd, const char* path, const void* caller) {
  if (fd < 0 || fd >= kDescriptors || !is_random_device(path) || !is_programs_now(caller)) return fd;
  g_marked[fd / 64].fetch_or(std::uint64_t{1} << fd % 64, std::memory_order_relaxed);
  g_any_marked.store(true, std::memory_order_relaxed);
  return fd;
}

bool is_marked(int fd) {
  return g_any_marked.load(std::memory_order_relaxed) && fd >= 0 && fd < kDescriptors &&
         (g_marked[fd / 64].load(std::memory_order_relaxed) >> fd % 64 & 1) != 0;
}

// Devices 1:8 and 1:9. errno stays as it is.
bool still_random_device(int fd) {
  const int saved = errno;
  struct stat info {};
  const bool is = fstat(fd, &info) == 0 && S_ISCHR(info.st_mode) && major(info.st_rdev) == 1 &&
                  (minor(info.st_rdev) == 8 || minor(info.st_rdev) == 9);
  errno = saved;
  if (!is) g_marked[fd / 64].fetch_and(~(std::uint64_t{1} << fd % 64), std::memory_order_relaxed);
  return is;
}

ssize_t read_device(int fd, void* buffer, std::size_t size, const void* caller) {
  return read_bytes(Function::ReadDevice, caller, 0, buffer, size, [&] { return g_read(fd, buffer, size); });
}

// --- streams ---------------------------------------------------------------------------------------------------------

struct Stream {
  int fd;
  const void* caller;  // who opened it: reads come from inside the C library
};

// A stream fills its buffer, however little is wanted. What is read is kept in the trace, so it gets little at a time.
constexpr std::size_t kMostAtATime = 256;

ssize_t read_stream(void* cookie, char* buffer, std::size_t size) {
  const auto& stream = *static_cast<Stream*>(cookie);
  return read_device(stream.fd, buffer, std::min(size, kMostAtATime), stream.caller);
}

int close_stream(void* cookie) {
  auto* const stream = static_cast<Stream*>(cookie);
  const int result = close(stream->fd);
  delete stream;
  return result;
}

// Null if that cannot be done; `fd` is still the caller's then.
FILE* stream_over(int fd, const char* mode, const void* caller) {
  auto* const stream = new (std::nothrow) Stream{fd, caller};
  if (!stream) return nullptr;
  FILE* const file = fopencookie(stream, mode, {read_stream, nullptr, nullptr, close_stream});
  if (!file) delete stream;
  else file->_fileno = fd;  // C++ streams take the descriptor out of it and read that
  return file;
}

bool only_reads(const char* mode) { return mode[0] == 'r' && !strchr(mode, '+'); }

FILE* open_stream(Next<FILE*(const char*, const char*)>& next, const char* path, const char* mode, const void* caller) {
  FILE* const file = next(path, mode);
  if (!file || !is_random_device(path) || !only_reads(mode) || !is_programs_now(caller)) return file;
  const int fd = opened(g_open(path, O_RDONLY | (strchr(mode, 'e') ? O_CLOEXEC : 0)), path, caller);
  FILE* const ours = fd >= 0 ? stream_over(fd, mode, caller) : nullptr;
  if (!ours) {
    if (fd >= 0) close(fd);
    return file;
  }
  fclose(file);
  return ours;
}

}  // namespace

void reprise::sys::find_random_devices() {
  g_open.find();
  g_open64.find();
  g_openat.find();
  g_openat64.find();
  g_open_2.find();
  g_open64_2.find();
  g_openat_2.find();
  g_openat64_2.find();
  g_fopen.find();
  g_fopen64.find();
  g_fdopen.find();
  g_read.find();
  g_read_chk.find();
}

// The permissions are there only if the file may be made.
#define REPRISE_PERMISSIONS(flags)                                  \
  mode_t permissions = 0;                                           \
  if (((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE) { \
    va_list arguments;                                              \
    va_start(arguments, flags);                                     \
    permissions = va_arg(arguments, mode_t);                        \
    va_end(arguments);                                              \
  }

extern "C" {

int reprise_open(const char*, int, ...) REPRISE_INTERPOSES("open");
int reprise_open(const char* path, int flags, ...) {
  REPRISE_PERMISSIONS(flags)
  return opened(g_open(path, flags, permissions), path, REPRISE_RETURN_ADDRESS);
}

int reprise_open64(const char*, int, ...) REPRISE_INTERPOSES("open64");
int reprise_open64(const char* path, int flags, ...) {
  REPRISE_PERMISSIONS(flags)
  return opened(g_open64(path, flags, permissions), path, REPRISE_RETURN_ADDRESS);
}

int reprise_openat(int, const char*, int, ...) REPRISE_INTERPOSES("openat");
int reprise_openat(int directory, const char* path, int flags, ...) {
  REPRISE_PERMISSIONS(flags)
  return opened(g_openat(directory, path, flags, permissions), path, REPRISE_RETURN_ADDRESS);
}

int reprise_openat64(int, const char*, int, ...) REPRISE_INTERPOSES("openat64");
int reprise_openat64(int directory, const char* path, int flags, ...) {
  REPRISE_PERMISSIONS(flags)
  return opened(g_openat64(directory, path, flags, permissions), path, REPRISE_RETURN_ADDRESS);
}

int reprise_open_2(const char*, int) REPRISE_INTERPOSES("__open_2");
int reprise_open_2(const char* path, int flags) { return opened(g_open_2(path, flags), path, REPRISE_RETURN_ADDRESS); }

int reprise_open64_2(const char*, int) REPRISE_INTERPOSES("__open64_2");
int reprise_open64_2(const char* path, int flags) {
  return opened(g_open64_2(path, flags), path, REPRISE_RETURN_ADDRESS);
}

int reprise_openat_2(int, const char*, int) REPRISE_INTERPOSES("__openat_2");
int reprise_openat_2(int directory, const char* path, int flags) {
  return opened(g_openat_2(directory, path, flags), path, REPRISE_RETURN_ADDRESS);
}

int reprise_openat64_2(int, const char*, int) REPRISE_INTERPOSES("__openat64_2");
int reprise_openat64_2(int directory, const char* path, int flags) {
  return opened(g_openat64_2(directory, path, flags), path, REPRISE_RETURN_ADDRESS);
}

ssize_t reprise_read(int, void*, std::size_t) REPRISE_INTERPOSES("read");
ssize_t reprise_read(int fd, void* buffer, std::size_t size) {
  if (!is_marked(fd) || !still_random_device(fd)) [[likely]]
    return g_read(fd, buffer, size);
  return read_device(fd, buffer, size, REPRISE_RETURN_ADDRESS);
}

ssize_t reprise_read_chk(int, void*, std::size_t, std::size_t) REPRISE_INTERPOSES("__read_chk");
ssize_t reprise_read_chk(int fd, void* buffer, std::size_t size, std::size_t room) {
  if (!is_marked(fd) || !still_random_device(fd) || size > room) [[likely]]
    return g_read_chk(fd, buffer, size, room);
  return read_device(fd, buffer, size, REPRISE_RETURN_ADDRESS);
}

FILE* reprise_fopen(const char*, const char*) REPRISE_INTERPOSES("fopen");
FILE* reprise_fopen(const char* path, const char* mode) {
  return open_stream(g_fopen, path, mode, REPRISE_RETURN_ADDRESS);
}

FILE* reprise_fopen64(const char*, const char*) REPRISE_INTERPOSES("fopen64");
FILE* reprise_fopen64(const char* path, const char* mode) {
  return open_stream(g_fopen64, path, mode, REPRISE_RETURN_ADDRESS);
}

FILE* reprise_fdopen(int, const char*) REPRISE_INTERPOSES("fdopen");
FILE* reprise_fdopen(int fd, const char* mode) {
  if (is_marked(fd) && still_random_device(fd) && only_reads(mode) && is_programs_now(REPRISE_RETURN_ADDRESS))
    if (FILE* const file = stream_over(fd, mode, REPRISE_RETURN_ADDRESS)) return file;
  return g_fdopen(fd, mode);
}

}  // extern "C"
