// Something callable that is only used while the function runs that it is given to: two words, no allocation, and the function
// need not be a template.
#pragma once

#include <type_traits>
#include <utility>

namespace reprise {

template <class>
class FunctionRef;

template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <class Callable>
  requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef>)
  FunctionRef(Callable&& callable)  // implicit, as callers write lambdas
      : object_(const_cast<void*>(static_cast<const void*>(&callable))), call_([](void* object, Arguments... arguments) -> Result {
          return (*static_cast<std::remove_reference_t<Callable>*>(object))(std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const { return call_(object_, std::forward<Arguments>(arguments)...); }

 private:
  void* object_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace reprise
