// SPDX-License-Identifier: Apache-2.0
#include "simulate/published/bookkeeping.h"

#include <cmath>

namespace weir::simulate::published {

void Bookkeeping::run(JobIndex index, const Step& step, EventList& events) {
  PublishedJob& job = jobs[index];
  if (job.gpus == 0) return;
  const double rate = job.rate();
  Seconds ran = step.passed - std::max<Seconds>(0, step.now - step.end);
  ran = std::max<Seconds>(0, ran - job.overhead);
  double done = static_cast<double>(ran) * rate;
  if (job.left <= done && job.end > step.now) {
    const Seconds started = step.now - step.passed;
    const Seconds ended = started + static_cast<Seconds>(std::ceil(job.left / rate));
    done = static_cast<double>(job.end - started) * rate;
    events.move_end(index, job.end, step.now);
    job.end = ended;
  }
  job.left -= done;
  job.overhead = 0;
}

}  // namespace weir::simulate::published
