// SPDX-License-Identifier: Apache-2.0
//
// weir's own file of training jobs, for curves of two models.
#include <sstream>

#include "formats/training_yaml.h"
#include "round_trip_check.h"
#include "training_curves.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  const CurveBook& curves = fuzz::training_curves();
  auto input = formats::InputFile::from_memory("fuzz.yaml", fuzz::text_of(data, size));
  if (!input) return 0;
  const auto workload = formats::read_training_yaml(std::move(*input), curves);
  fuzz::check_refusal(workload);
  if (!workload || workload->jobs.size() > 10000)
    return 0;  // a count of a million is slow, not wrong
  std::ostringstream out;
  formats::write_training_yaml(out, *workload);
  const std::string written = out.str();
  const auto back =
      formats::read_training_yaml(*formats::InputFile::from_memory("fuzz.yaml", written), curves);
  fuzz::check(back.has_value() && back->jobs == workload->jobs && back->name == workload->name,
              "training jobs come back as written");
  return 0;
}
