// SPDX-License-Identifier: Apache-2.0
//
// What a command sees of the outside: two streams, and what is known about the terminal. Results go
// to `out`; progress and mistakes to `err`.
#pragma once

#include <iosfwd>

namespace weir::cli {

struct Console {
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;
  bool out_is_terminal = false;
  int exit_code = 0;  // of a command that did its work, when it hands on that of another program
};

}  // namespace weir::cli
