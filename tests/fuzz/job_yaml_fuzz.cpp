// SPDX-License-Identifier: Apache-2.0
//
// A file of jobs, as `weir submit` reads it and sends it on as JSON.
#include "formats/job_document.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  auto input = formats::InputFile::from_memory("fuzz.yaml", fuzz::text_of(data, size));
  if (!input) return 0;
  const auto jobs = formats::read_job_yaml(std::move(*input));
  fuzz::check_refusal(jobs);
  if (!jobs) return 0;
  for (std::size_t i = 0; i < jobs->size() && i < 3; ++i) {
    const formats::JobDocument& job = (*jobs)[i];
    const auto back = formats::read_job_json(formats::write_job_json(job), "back.json");
    fuzz::check(back && *back == job, "what YAML says can be said in JSON");
  }
  return 0;
}
