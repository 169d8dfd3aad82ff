// SPDX-License-Identifier: Apache-2.0
//
// What a server finds wrong with a job, told as if the command itself had found it: with the file and line in which
// the job stands, or with the option that says so.
#pragma once

#include <string>

#include "cli/client_api.h"
#include "cli/console.h"
#include "domain/result.h"
#include "formats/job_document.h"
#include "transport/http_client.h"

namespace weir::cli {

struct Refusal {
  std::string title;  // "Bad Request: the job has mistakes"; empty: no server said anything
  Error error;        // its mistakes may be none, where the title says all
};

// `place` is null for a job that was made from options.
Refusal refusal_of(const transport::HttpReply& reply, const formats::JobPlace* place);
// The mistakes of both; the kind of error is that of the first.
void add_to(Refusal& all, const Refusal& more);

// Names the title, once. The mistakes are in the error.
tl::unexpected<Error> tell(const Refusal& refusal, Console& console);
// [{"file":"job.yaml","line":3,"field":"gpus","found":"3","expected":"a power of two","message":"..."}]
ApiJson errors_of(const Refusal& refusal);

}  // namespace weir::cli
