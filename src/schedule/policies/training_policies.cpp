// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/training_policies.h"

#include <algorithm>
#include <array>

#include "schedule/policies/capped.h"
#include "schedule/policies/carbon_scaler.h"
#include "schedule/policies/chronus.h"
#include "schedule/policies/edf.h"
#include "schedule/policies/elasticflow.h"
#include "schedule/policies/fifo.h"
#include "schedule/policies/gandiva.h"
#include "schedule/policies/green.h"
#include "schedule/policies/pollux.h"
#include "schedule/policies/srtf.h"
#include "schedule/policies/themis.h"
#include "schedule/policies/tiresias.h"
#include "schedule/policies/wait_awhile.h"
#include "schedule/policies/weir_policy.h"

namespace weir::schedule {
namespace {

const WeirPolicy kWeir;
const ElasticFlowPolicy kElasticFlow;
const EdfPolicy kEdf;
const EdfKneePolicy kEdfKnee{false};
const EdfKneePolicy kEdfAdmission{true};
const TiresiasPolicy kTiresias;
const ThemisPolicy kThemis;
const GandivaPolicy kGandiva;
const SrtfPolicy kSrtf;
const FifoPolicy kFifo;
const ChronusPolicy kChronus;
const PolluxPolicy kPollux;
const GreenPolicy kGreen;
const CappedElasticPolicy kCappedElastic;
const CappedSrtfPolicy kCappedSrtf;
const CarbonScalerPolicy kCarbonScaler;
const WaitAwhilePolicy kWaitAwhile;

constexpr std::string_view kElasticFlowPaper = "Gu et al., ASPLOS 2023";

const std::array kTrainingPolicies{
    TrainingPolicyRow{"weir", "Deadlines that hold; left-over GPUs where they save most",
                      "weir, docs/models/promises.md", &kWeir},
    TrainingPolicyRow{"elasticflow", "As few GPUs as deadlines need; the rest by marginal return",
                      kElasticFlowPaper, &kElasticFlow},
    TrainingPolicyRow{"edf", "Earliest deadline first, on every GPU it can get", kElasticFlowPaper,
                      &kEdf},
    TrainingPolicyRow{"edf-knee", "Earliest deadline first, on no more GPUs than help",
                      "weir, docs/models/promises.md", &kEdfKnee},
    TrainingPolicyRow{"edf-admission", "edf-knee that turns away what it cannot meet",
                      "weir, docs/models/promises.md", &kEdfAdmission},
    TrainingPolicyRow{"tiresias", "Whoever has had least GPU-time, in three queues",
                      "Gu et al., NSDI 2019", &kTiresias},
    TrainingPolicyRow{"themis", "Finishes put off evenly, in rounds on the GPUs asked for",
                      "Mahajan et al., NSDI 2020", &kThemis},
    TrainingPolicyRow{"gandiva", "Jobs take turns on the GPUs they asked for",
                      "Xiao et al., OSDI 2018", &kGandiva},
    TrainingPolicyRow{"srtf", "Shortest remaining time first, on the GPUs asked for",
                      "common practice", &kSrtf},
    TrainingPolicyRow{"fifo", "In order of arrival, on the GPUs asked for", "common practice",
                      &kFifo},
    TrainingPolicyRow{"chronus", "Sizes as asked, in leases; promises what a timetable meets",
                      "Gao et al., SoCC 2021", &kChronus},
    TrainingPolicyRow{"pollux", "GPUs shared anew every round, by goodput and fairness",
                      "Qiao et al., OSDI 2021", &kPollux},
    TrainingPolicyRow{"green", "As early as a budget of carbon, money or power allows",
                      "weir, docs/models/energy.md", &kGreen},
    TrainingPolicyRow{"elastic-capped", "GPUs by marginal return, sizes and clocks capped",
                      "weir, docs/models/energy.md", &kCappedElastic},
    TrainingPolicyRow{"srtf-capped", "Shortest first at the knee, sizes and clocks capped",
                      "weir, docs/models/energy.md", &kCappedSrtf},
    TrainingPolicyRow{"carbon-scaler", "Each job larger in its cleaner hours, by its own plan",
                      "Hanafy et al., SIGMETRICS 2024", &kCarbonScaler},
    TrainingPolicyRow{"wait-awhile", "Each job only in the cleanest hours of its window",
                      "Wiesner et al., Middleware 2021", &kWaitAwhile},
};

}  // namespace

std::span<const TrainingPolicyRow> training_policies() {
  return kTrainingPolicies;
}

const TrainingPolicy* find_training_policy(std::string_view name) {
  const auto row =
      std::find_if(kTrainingPolicies.begin(), kTrainingPolicies.end(),
                   [name](const TrainingPolicyRow& candidate) { return candidate.name == name; });
  return row == kTrainingPolicies.end() ? nullptr : row->policy;
}

}  // namespace weir::schedule
