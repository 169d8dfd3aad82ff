// SPDX-License-Identifier: Apache-2.0
//
// A fabric.
#include "formats/fabric_yaml.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  auto input = formats::InputFile::from_memory("fuzz.yaml", fuzz::text_of(data, size));
  if (!input) return 0;
  const auto fabric = formats::read_fabric_yaml(std::move(*input));
  fuzz::check_refusal(fabric);
  if (!fabric) return 0;
  fuzz::check(fabric->leaves >= 0 && fabric->spines >= 0 && fabric->parallel_links >= 1,
              "counts are not negative");
  for (const OpticalCircuit& circuit : fabric->circuits)
    fuzz::check(circuit.leaf >= 0 && circuit.leaf < fabric->leaves, "a circuit has a leaf");
  for (const ListedLink& link : fabric->links) fuzz::check(link.rate.value > 0, "a link is fast");
  return 0;
}
