// Nothing throws here: our code is compiled without exceptions, and what the standard library throws (no memory, a length out of range) ends the
// process. So libstdc++'s reserve for exceptions, 72 KiB of the program's heap before its first own allocation, is never needed; these take the place
// of the functions that bring it.
#include <cstddef>
#include <cstdlib>

extern "C" {

void* __cxa_allocate_exception(std::size_t) noexcept;
void* __cxa_allocate_exception(std::size_t) noexcept { std::abort(); }
void __cxa_free_exception(void*) noexcept;
void __cxa_free_exception(void*) noexcept {}
void* __cxa_allocate_dependent_exception() noexcept;
void* __cxa_allocate_dependent_exception() noexcept { std::abort(); }
void __cxa_free_dependent_exception(void*) noexcept;
void __cxa_free_dependent_exception(void*) noexcept {}

}  // extern "C"
