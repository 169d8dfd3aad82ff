// SPDX-License-Identifier: Apache-2.0
//
// What an operator wants of energy: what was read keeps the rules.
#include "formats/cluster_shorthand.h"
#include "formats/energy_yaml.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  static const Cluster cluster = *formats::parse_cluster_shorthand("4x8xA100");
  auto input = formats::InputFile::from_memory("fuzz.yaml", fuzz::text_of(data, size));
  if (!input) return 0;
  const auto file = formats::read_energy_yaml(std::move(*input), cluster, "/nowhere");
  fuzz::check_refusal(file);
  if (!file) return 0;
  fuzz::check(is_well_formed(file->terms), "terms keep the rules");
  fuzz::check(file->is_off == file->terms.pools.empty(), "power of every pool, or nobody asks");
  fuzz::check(file->gpus.size() == file->terms.pools.size(), "constants of every pool");
  return 0;
}
