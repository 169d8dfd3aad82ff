// SPDX-License-Identifier: Apache-2.0
//
// A job as the API gets it.
#include "formats/job_document.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  const auto job = formats::read_job_json(fuzz::text_of(data, size), "fuzz.json");
  fuzz::check_refusal(job);
  if (!job) return 0;
  const std::string text = formats::write_job_json(*job);
  const auto back = formats::read_job_json(text, "back.json");
  fuzz::check(back && *back == *job, "a job comes back as written");
  fuzz::check(formats::write_job_json(*back) == text, "and gives the same bytes");
  return 0;
}
