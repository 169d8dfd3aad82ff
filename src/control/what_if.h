// SPDX-License-Identifier: Apache-2.0
//
// "What if?", as the API asks and answers it (docs/openapi.yaml, WhatIfQuestion and WhatIf): what is to
// be supposed, and how things go on as they are and then.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/cluster.h"
#include "domain/result.h"
#include "formats/job_document.h"
#include "schedule/foresee/counterfactuals.h"
#include "schedule/foresee/foresee.h"

namespace weir::control {

struct WhatIfQuestion {
  struct More {
    std::string pool;  // empty: the only one
    std::int32_t nodes = 0;
  };
  std::vector<More> add_nodes;
  std::vector<std::string> lose;  // nodes, or all of a rack, by name
  std::string policy;             // empty: as it is
  std::vector<formats::JobDocument> submit;
  bool wants_records = false;
};

inline constexpr std::int32_t kMostAddedNodes = 1024;
inline constexpr std::size_t kMostSupposedJobs = 64;

// The body of a request; all mistakes at once.
Result<WhatIfQuestion> read_what_if(std::string_view json);

// All of the question that is about the cluster: nodes and policy.
Result<schedule::Supposition> supposition_about(const WhatIfQuestion& question,
                                                const Cluster& cluster,
                                                const schedule::TrainingState& state);

struct WhatIfAnswer {
  schedule::Forecast now;
  schedule::Forecast then;
  std::vector<Pool> pools;  // of the cluster, for their names
  Duration wall_ahead{0};   // wall clock minus scheduler's time
};
std::string to_json(const WhatIfAnswer& answer, bool with_records);

struct ShownCounterfactuals {
  std::vector<schedule::Counterfactual> told;
  std::vector<std::string> others;  // by line: the name of the job that would be cancelled
  Time now;
  Duration wall_ahead{0};
};
// `clock` says times in its texts; none: RFC 3339, to the second.
std::string to_json(const ShownCounterfactuals& shown,
                    const std::function<std::string(Time)>& clock = {});

}  // namespace weir::control
