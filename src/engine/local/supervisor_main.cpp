// SPDX-License-Identifier: Apache-2.0
//
// weir-supervisor FOLDER: started by the local engine, one for each run. Not for people.
#include <cstdio>

#include "engine/local/supervisor.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("weir-supervisor is started by weir and looks after one run of a job\n", stderr);
    return 2;
  }
  return weir::engine::supervise(argv[1]);
}
