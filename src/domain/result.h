// SPDX-License-Identifier: Apache-2.0
//
// Errors are values. A function that can fail on its input returns Result<T>; the error says what
// kind it is (which decides the exit code) and lists every mistake found.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

#include "domain/diagnostics.h"

namespace weir {

enum class ErrorCode : std::uint8_t { failure, bad_input, infeasible, unavailable };

struct Error {
  ErrorCode code = ErrorCode::failure;
  Diagnostics details;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> bad_input(Diagnostics details) {
  return tl::unexpected<Error>(Error{ErrorCode::bad_input, std::move(details)});
}

inline tl::unexpected<Error> bad_input(Diagnostic diagnostic) {
  Diagnostics details;
  details.add(std::move(diagnostic));
  return bad_input(std::move(details));
}

// 0 ok, 1 failure, 2 bad input, 3 refused or infeasible, 4 unavailable, 130 interrupted.
enum class ExitCode : int {
  ok = 0,
  failure = 1,
  bad_input = 2,
  infeasible = 3,
  unavailable = 4,
  interrupted = 130
};

constexpr ExitCode exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_input:
      return ExitCode::bad_input;
    case ErrorCode::infeasible:
      return ExitCode::infeasible;
    case ErrorCode::unavailable:
      return ExitCode::unavailable;
    case ErrorCode::failure:
      break;
  }
  return ExitCode::failure;
}

}  // namespace weir
