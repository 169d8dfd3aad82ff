// SPDX-License-Identifier: Apache-2.0
//
// CSV and the training trace, for curves of two models. A trace can be written as YAML and reads
// back from that.
#include <sstream>

#include "formats/training_trace.h"
#include "formats/training_yaml.h"
#include "round_trip_check.h"
#include "training_curves.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  const CurveBook& curves = fuzz::training_curves();
  auto input = formats::InputFile::from_memory("fuzz.csv", fuzz::text_of(data, size));
  if (!input) return 0;
  const auto trace = formats::read_training_trace(std::move(*input), curves);
  fuzz::check_refusal(trace);
  if (!trace) return 0;
  std::ostringstream out;
  formats::write_training_yaml(out, *trace);
  const std::string written = out.str();
  const auto back =
      formats::read_training_yaml(*formats::InputFile::from_memory("fuzz.yaml", written), curves);
  fuzz::check(back.has_value() && back->jobs == trace->jobs, "a trace comes back from YAML");
  return 0;
}
