// SPDX-License-Identifier: Apache-2.0
//
// The API's routes that look ahead.
#include <utility>

#include "control/api.h"
#include "control/api_replies.h"
#include "formats/job_document.h"

namespace weir::control {

using transport::problem;

void Api::what_if(Request request, Responder responder) {
  if (is_only_observing(responder)) return;
  if (!is_json_body(request))
    return responder.send(problem(415, "", "send the question as application/json"));
  auto question = read_what_if(request.body);
  if (!question) {
    return responder.send(problem(400, "", "the question has mistakes", question.error().details));
  }
  const bool with_records = question->wants_records;
  auto shared = std::make_shared<Responder>(std::move(responder));
  loop_.what_if(std::move(*question), [shared, with_records](const Result<WhatIfAnswer>& answer) {
    if (!answer) {
      return shared->send(
          answer.error().code == ErrorCode::unavailable
              ? unavailable(text_of(answer.error().details))
              : problem(422, "", "this cannot be supposed here", answer.error().details));
    }
    shared->send(json_response(200, to_json(*answer, with_records)));
  });
}

void Api::counterfactuals(Request request, Responder responder) {
  if (is_only_observing(responder)) return;
  const auto job = find_job(request, responder);
  if (!job) return;
  std::string text;
  {
    const std::lock_guard lock{reading_->mutex};
    const auto document = reading_->reader->job_document(*job);
    if (!document) return responder.send(store_trouble(document.error()));
    if (!*document) return responder.send(problem(404, "", "the job is gone"));
    text = **document;
  }
  auto document = formats::read_job_json(text, "store");
  if (!document) return responder.send(store_trouble(document.error()));
  auto shared = std::make_shared<Responder>(std::move(responder));
  loop_.counterfactuals(*job, std::move(*document),
                        [shared](const Result<ShownCounterfactuals>& answer) {
                          if (!answer)
                            return shared->send(unavailable(text_of(answer.error().details)));
                          shared->send(json_response(200, to_json(*answer)));
                        });
}

}  // namespace weir::control
