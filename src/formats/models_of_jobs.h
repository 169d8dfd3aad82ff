// SPDX-License-Identifier: Apache-2.0
//
// A first look at a file of training jobs: is it one, and do its jobs need measured curves? Whoever has no curves asks
// this before reading it, because what is wrong with the file matters more than the curves that are missing.
#pragma once

#include <filesystem>

#include "domain/result.h"

namespace weir::formats {

enum class ModelsOfJobs : std::uint8_t {
  named,    // every model needs a curve that is known: a trace, or jobs without models to plan
  planned,  // some have a model to plan (planned_model_fields.h)
};

// The error says why the file is none of training jobs: absent, empty, no YAML, without a list of jobs. What a job has
// beside its model is not looked at. A pipe can be read only once and is taken to be `named`.
Result<ModelsOfJobs> models_of_jobs(const std::filesystem::path& file);

}  // namespace weir::formats
