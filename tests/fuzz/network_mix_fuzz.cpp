// SPDX-License-Identifier: Apache-2.0
//
// Jobs for a network, and what kinds of jobs exchange.
#include <cmath>

#include "formats/network_mix_yaml.h"
#include "formats/traffic_yaml.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  auto input = formats::InputFile::from_memory("fuzz.yaml", fuzz::text_of(data, size));
  if (!input) return 0;
  const auto mix = formats::read_network_mix(std::move(*input));
  fuzz::check_refusal(mix);
  if (mix) {
    for (const MixJob& job : mix->jobs) {
      fuzz::check(job.gpus >= 1 && job.iterations >= 1, "a job does something");
      fuzz::check(std::isfinite(job.bytes) && job.bytes > 0, "it sends bytes");
      fuzz::check(job.ready_seconds <= job.compute_seconds, "what is ready was computed");
    }
  }
  auto again = formats::InputFile::from_memory("fuzz.yaml", fuzz::text_of(data, size));
  if (!again) return 0;
  const auto traffic = formats::read_traffic_yaml(std::move(*again));
  fuzz::check_refusal(traffic);
  return 0;
}
