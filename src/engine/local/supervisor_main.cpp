// SPDX-License-Identifier: Apache-2.0
//
// weir-supervisor FOLDER: started by the local engine, one for each run. Not for people.
// weir-supervisor --spare PROGRAM MODULE...: the same, before there is a run.
#include <cstdio>
#include <string_view>

#include "engine/local/spare_supervisor.h"
#include "engine/local/supervisor.h"

int main(int argc, char** argv) {
  if (argc > 3 && std::string_view{argv[1]} == "--spare")
    return weir::engine::wait_for_run(argv[2], {argv + 3, argv + argc});
  if (argc != 2) {
    std::fputs("weir-supervisor is started by weir and looks after one run of a job\n", stderr);
    return 2;
  }
  return weir::engine::supervise(argv[1]);
}
