// SPDX-License-Identifier: Apache-2.0
#include "cli/training_options.h"

namespace weir::cli {

std::vector<OptionSpec> training_input_options() {
  return {
      {.name = "cluster",
       .type = OptionType::text,
       .help = "The cluster for --jobs: nodes x GPUs x model, as in 16x4xT4 or "
               "16x8xA100+4x4xT4, or a cluster file as for --nodes."},
      {.name = "jobs",
       .type = OptionType::file_list,
       .help = "Training jobs, most with a deadline: traces (CSV) or weir training files "
               "(YAML). May be gzip. Each file is simulated on its own."},
      {.name = "curves",
       .type = OptionType::file,
       .help = "How fast the models of --jobs train on 1, 2, 4, ... GPUs: a folder with a table "
               "for each model (CSV), or Gavel's throughputs (JSON)."}};
}

std::vector<OptionSpec> training_rule_options() {
  return {{.name = "slot",
           .type = OptionType::text,
           .unit = "duration",
           .default_text = "0s",
           .help = "Decide about training jobs only at multiples of this time; 0s: at once."},
          {.name = "gate",
           .type = OptionType::text,
           .default_text = "on",
           .choices = {"on", "off"},
           .help = "Under overload, refuse a giant job that would take the room of many cheaper "
                   "ones. Only with --jobs."},
          {.name = "counter-offers",
           .type = OptionType::text,
           .default_text = "on",
           .choices = {"on", "off"},
           .help = "Work out the earliest deadline that can be promised for a job that is refused. "
                   "Only with --jobs."}};
}

}  // namespace weir::cli
