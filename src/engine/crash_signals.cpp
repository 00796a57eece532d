#include "engine/crash_signals.hpp"

#include <cstring>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/loaded_modules.hpp"

namespace reprise::engine {
namespace {

constexpr int kCrashSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr const char* kLibraries[] = {"/libucs.", "/libopen-pal.", "/libopen-rte.", "/libmpi.", "/libmpich."};
struct sigaction g_before[NSIG];
void (*g_hook)(int signal, const void* address);

// A handler that the program has set means that it knows what to do with the signal. Those of the message-passing
// libraries only print where it happened; they are put behind ours.
bool is_the_programs(const struct sigaction& action) {
  if (!(action.sa_flags & SA_SIGINFO) && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) return false;
  LoadedModule module;
  if (!find_module_of(reinterpret_cast<const void*>(action.sa_handler), module)) return true;
  for (const char* library : kLibraries)
    if (std::strstr(module.path, library)) return false;
  return true;
}

// Where the program was when the signal came.
const void* interrupted_at([[maybe_unused]] void* context) {
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(static_cast<const ucontext_t*>(context)->uc_mcontext.pc);
#else
  return nullptr;
#endif
}

void take_notice(int signal, siginfo_t* info, void* context) {
  g_hook(signal, interrupted_at(context));
  sigaction(signal, &g_before[signal], nullptr);
  if (info->si_code <= 0 || signal == SIGABRT) raise(signal);  // sent, not caused: it does not come again by itself
}

// A stack overflow leaves no room on the stack it happened on.
void provide_stack() {
  constexpr std::size_t kSize = 256 * 1024;
  stack_t current{};
  if (sigaltstack(nullptr, &current) != 0 || !(current.ss_flags & SS_DISABLE)) return;
  void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = kSize;
  sigaltstack(&stack, nullptr);
}

}  // namespace

void before_crash(void (*before)(int signal, const void* address)) {
  g_hook = before;
  provide_stack();
  struct sigaction action {};
  action.sa_sigaction = take_notice;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  for (const int signal : kCrashSignals)
    if (sigaction(signal, nullptr, &g_before[signal]) == 0 && !is_the_programs(g_before[signal]))
      sigaction(signal, &action, nullptr);
}

}  // namespace reprise::engine
