// Functions that return random bytes or numbers.
#include <sys/syscall.h>
#include <unistd.h>

#include "frontends/sys/load.hpp"
#include "frontends/sys/next.hpp"
#include "frontends/sys/read.hpp"

using namespace reprise::sys;

namespace {

constinit Next<ssize_t(void*, std::size_t, unsigned)> g_getrandom{"getrandom"};
constinit Next<int(void*, std::size_t)> g_getentropy{"getentropy"};
constinit Next<std::uint32_t()> g_arc4random{"arc4random"};
constinit Next<void(void*, std::size_t)> g_arc4random_buf{"arc4random_buf"};
constinit Next<std::uint32_t(std::uint32_t)> g_arc4random_uniform{"arc4random_uniform"};

// std::random_device::_M_getval(). On x86 it uses an instruction, so nothing below it could be caught. Other than the C
// library, libstdc++ may be where RTLD_NEXT does not look (below a module that Python has loaded).
using DrawNumber = unsigned(void*);
constinit Next<DrawNumber> g_draw{"_ZNSt13random_device9_M_getvalEv"};

unsigned draw(void* device) {
  if (DrawNumber* next = g_draw.find()) return next(device);
  if (void* library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD))
    if (void* found = dlsym(library, "_ZNSt13random_device9_M_getvalEv"))
      return reinterpret_cast<DrawNumber*>(found)(device);
  unsigned value = 0;
  syscall(SYS_getrandom, &value, sizeof value, 0);
  return value;
}

}  // namespace

void reprise::sys::find_random_sources() {
  g_getrandom.find();
  g_getentropy.find();
  g_arc4random.find();
  g_arc4random_buf.find();
  g_arc4random_uniform.find();
}

extern "C" {

ssize_t reprise_getrandom(void*, std::size_t, unsigned) REPRISE_INTERPOSES("getrandom");
ssize_t reprise_getrandom(void* buffer, std::size_t size, unsigned flags) {
  return read_bytes(Function::Getrandom, REPRISE_RETURN_ADDRESS, flags, buffer, size,
                    [&] { return g_getrandom(buffer, size, flags); });
}

int reprise_getentropy(void*, std::size_t) REPRISE_INTERPOSES("getentropy");
int reprise_getentropy(void* buffer, std::size_t size) {
  const ssize_t got = read_bytes(Function::Getentropy, REPRISE_RETURN_ADDRESS, 0, buffer, size, [&]() -> ssize_t {
    return g_getentropy(buffer, size) == 0 ? static_cast<ssize_t>(size) : -1;
  });
  return got < 0 ? -1 : 0;
}

std::uint32_t reprise_arc4random() REPRISE_INTERPOSES("arc4random");
std::uint32_t reprise_arc4random() {
  return read_number(Function::Arc4random, REPRISE_RETURN_ADDRESS, 0, [] { return g_arc4random(); });
}

void reprise_arc4random_buf(void*, std::size_t) REPRISE_INTERPOSES("arc4random_buf");
void reprise_arc4random_buf(void* buffer, std::size_t size) {
  read_bytes(Function::Arc4randomBuf, REPRISE_RETURN_ADDRESS, 0, buffer, size, [&] {
    g_arc4random_buf(buffer, size);
    return static_cast<ssize_t>(size);
  });
}

std::uint32_t reprise_arc4random_uniform(std::uint32_t) REPRISE_INTERPOSES("arc4random_uniform");
std::uint32_t reprise_arc4random_uniform(std::uint32_t bound) {
  return read_number(Function::Arc4randomUniform, REPRISE_RETURN_ADDRESS, bound,
                     [&] { return g_arc4random_uniform(bound); });
}

unsigned reprise_random_device(void*) REPRISE_INTERPOSES("_ZNSt13random_device9_M_getvalEv");
unsigned reprise_random_device(void* device) {
  return read_number(Function::RandomDevice, REPRISE_RETURN_ADDRESS, 0, [&] { return draw(device); });
}

}  // extern "C"
