// SPDX-License-Identifier: Apache-2.0
//
// What the API asks of the loop behind it: the controller, which decides, or the observer, which only watches.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/cluster_history.h"
#include "control/dry_run.h"
#include "control/energy_figures.h"
#include "control/store.h"
#include "control/tenant_figures.h"
#include "control/what_if.h"
#include "domain/cluster.h"
#include "formats/job_document.h"

namespace weir::control {

// The policy that gives tenants their shares.
inline constexpr std::string_view kSharingPolicy = "weir";

// How often a loop looks up when nothing happens, and how often and how much it forgets of the past.
inline constexpr Duration kTick = std::chrono::seconds{1};
inline constexpr Duration kForgetEvery = std::chrono::minutes{10};
inline constexpr std::size_t kMostForgotten = 5000;

struct Submission {
  formats::JobDocument document;
  std::string json;    // the document, canonical
  std::string key;     // for idempotency; empty: none
  std::string digest;  // of the request
};

struct SubmitAnswer {
  enum class Kind : std::uint8_t {
    accepted,
    refused,
    repeated,
    key_reused,
    malformed,
    unavailable
  };
  Kind kind = Kind::unavailable;
  std::string view;    // of the job, when there is one
  Diagnostics errors;  // otherwise
};

struct CancelAnswer {
  bool is_unavailable = false;
  std::string detail;
};

struct NodeAnswer {
  bool is_unavailable = false;
  bool changed = false;
  std::vector<JobId> at_risk;
};

struct NodeUse {
  std::string name;
  std::string pool;
  std::string model;
  std::int32_t gpus = 0;
  bool is_up = true;
  struct User {
    JobId job;
    std::string name;
    std::vector<std::int32_t> gpus;
  };
  std::vector<User> users;
};

// The cluster in a few figures, now.
struct Overview {
  Time at;  // on the wall clock
  std::int64_t gpus = 0;
  std::int64_t nodes = 0;
  ClusterFigures figures;
  std::map<std::string, std::int64_t> phases;  // jobs
};

struct ShownDryRun {
  DryRunAnswer answer;
  Duration wall_ahead{0};  // wall clock minus scheduler's time
};

struct Health {
  bool is_ok = true;
  std::string detail;
};

// Answers come on the loop's thread, after what they tell is durable.
class LiveLoop {
 public:
  virtual ~LiveLoop() = default;

  virtual void submit(Submission submission, std::function<void(SubmitAnswer)> answer) = 0;
  virtual void cancel(JobId job, std::function<void(CancelAnswer)> answer) = 0;
  virtual void drain(NodeId node, std::function<void(NodeAnswer)> answer) = 0;
  virtual void undrain(NodeId node, std::function<void(NodeAnswer)> answer) = 0;
  virtual void dry_run(formats::JobDocument document,
                       std::function<void(Result<ShownDryRun>)> answer) = 0;
  // On forks, off the loop. An error of the kind unavailable: not now.
  virtual void what_if(WhatIfQuestion question,
                       std::function<void(Result<WhatIfAnswer>)> answer) = 0;
  // `document` is what the job was submitted with.
  virtual void counterfactuals(JobId job, formats::JobDocument document,
                               std::function<void(Result<ShownCounterfactuals>)> answer) = 0;
  virtual void tenants(std::function<void(Result<ShownTenants>)> answer) = 0;
  // What is adopted is durable. An error of the kind unavailable: not now; of any other: not here.
  virtual void change_tenants(TenantTable table,
                              std::function<void(Result<ShownTenants>)> answer) = 0;
  virtual void energy(std::function<void(Result<ShownEnergy>)> answer) = 0;
  virtual void nodes(std::function<void(std::vector<NodeUse>)> answer) = 0;  // none: unavailable
  virtual void overview(
      std::function<void(std::optional<Overview>)> answer) = 0;  // none: unavailable
  virtual void backup(std::string file, std::function<void(Result<void>)> answer) = 0;

  // Called on the loop's thread after each commit that wrote to the log.
  virtual void on_commit(std::function<void(LogPosition end)> callback) = 0;

  virtual Health health() const = 0;
  virtual LogPosition log_end() const = 0;
  virtual Time wall_time() const = 0;
  virtual std::optional<NodeId> node_named(std::string_view name) const = 0;
  virtual std::string policy() const = 0;
  // What it decides about; null when it only watches.
  virtual const Cluster* cluster() const { return nullptr; }

  // Of a loop that only watches: none of the changes above is possible.
  virtual bool is_observing() const { return false; }
  // The latest observation, JSON; none: this loop observes nobody, or does not know yet.
  virtual std::optional<std::string> observation() const { return std::nullopt; }
};

}  // namespace weir::control
