// SPDX-License-Identifier: Apache-2.0
//
// CSV and sweeps over power limits: every point that comes out can be computed with.
#include "formats/zeus_sweeps.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  auto input = formats::InputFile::from_memory("zeus_v100.csv", fuzz::text_of(data, size));
  if (!input) return 0;
  const auto all = formats::read_zeus_sweeps(std::move(*input));
  fuzz::check_refusal(all);
  if (!all) return 0;
  fuzz::check(!all->sweeps.empty(), "a file has a job");
  for (const PowerSweep& sweep : all->sweeps) {
    fuzz::check(!sweep.points.empty(), "a job has a point");
    double last = 0;
    for (const SweepPoint& point : sweep.points) {
      fuzz::check(point.limit_watts > last, "limits ascend");
      fuzz::check(point.joules() > 0, "a point has an energy");
      last = point.limit_watts;
    }
  }
  return 0;
}
