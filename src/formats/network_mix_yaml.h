// SPDX-License-Identifier: Apache-2.0
//
// Jobs for `weir network simulate --jobs`:
//
//   jobs:
//     - {name: a, gpus: 16, collective: ring, bytes: 256MB, compute: 0.02s, iterations: 10}
//     - {gpus: 8, collective: all-to-all, bytes: 64MB, mode: steady, ready: 0.01s, start: 1s}
//
// compute, ready and start are 0s and iterations 1 unless given; ready is as compute: the collective
// waits for all of it. Jobs without a name are job-1, job-2 and so on.
#pragma once

#include "domain/network_mix.h"
#include "domain/result.h"
#include "formats/input_file.h"

namespace weir::formats {

Result<NetworkMix> read_network_mix(InputFile input);

}  // namespace weir::formats
