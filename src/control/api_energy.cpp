// SPDX-License-Identifier: Apache-2.0
//
// The API's route about energy.
#include <memory>
#include <utility>

#include "control/api.h"
#include "control/api_replies.h"

namespace weir::control {

void Api::energy(Request, Responder responder) {
  if (is_only_observing(responder)) return;
  auto shared = std::make_shared<transport::Responder>(std::move(responder));
  loop_.energy([shared](const Result<ShownEnergy>& shown) {
    shared->send(shown ? json_response(200, to_json(*shown))
                       : unavailable(text_of(shown.error().details)));
  });
}

}  // namespace weir::control
