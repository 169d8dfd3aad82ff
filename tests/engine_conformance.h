// SPDX-License-Identifier: Apache-2.0
//
// What every engine must do, whatever it runs jobs on. An engine joins by implementing EngineHost:
// the world in which it runs, which stays when the control plane dies. The tests are in
// engine_conformance_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "domain/engine.h"

namespace weir {

class EngineHost {
 public:
  virtual ~EngineHost() = default;

  // Jobs can end with another code than 0.
  virtual bool has_exit_codes() const { return true; }

  // The control plane begins, or begins again after crash().
  virtual Engine& begin(std::vector<RunOrder> standing, EngineListener& listener) = 0;
  // The control plane dies. Runs go on.
  virtual void crash() = 0;

  // A job on these GPUs (0 to 3, side by side) that runs until it is told to finish.
  virtual RunOrder job_on(JobId job, std::uint32_t generation, std::vector<std::int32_t> gpus) = 0;
  virtual void finish(JobId job, std::uint32_t generation, int code) = 0;

  // Lets time pass until it is true; false when it never is.
  virtual bool pass_until(const std::function<bool()>& is_true) = 0;

  // "JOB.GENERATION" of each run that has begun, in that order.
  virtual std::vector<std::string> begun() = 0;
  // Runs that met another of the same job, or on the same GPU.
  virtual std::vector<std::string> clashes() = 0;
  // Nothing runs any more.
  virtual bool is_idle() = 0;
};

std::unique_ptr<EngineHost> make_local_host();
std::unique_ptr<EngineHost> make_modelled_host();

}  // namespace weir
