// SPDX-License-Identifier: Apache-2.0
//
// For tests of the API without sockets: asks a router, waits for the answer.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "control/access.h"
#include "control/controller_testing.h"
#include "transport/responder.h"
#include "transport/router.h"

namespace weir::control::testing {

// Takes the answer to one request.
class AnswerSink final : public transport::ResponseSink {
 public:
  void send(transport::HttpResponse response) override { answer_.callback()(std::move(response)); }
  transport::EventStream stream(transport::HttpResponse head) override {
    answer_.callback()(std::move(head));
    return {};
  }
  transport::HttpResponse get() { return answer_.get(); }

 private:
  Waiting<transport::HttpResponse> answer_;
};

inline transport::HttpRequest request(std::string method, std::vector<std::string> segments,
                                      std::string body = {}) {
  transport::HttpRequest made;
  made.method = std::move(method);
  made.segments = std::move(segments);
  made.body = std::move(body);
  return made;
}

// Somebody with a new token of that role, of a server of its own.
inline std::shared_ptr<const AccessCaller> caller(Role role, std::string tenant = {}) {
  auto tokens = AccessTokens::open({}, "first", [] { return Time{}; });
  AccessToken token;
  token.name = "someone";
  token.role = role;
  token.tenant = std::move(tenant);
  const auto secret = (*tokens)->create(std::move(token));
  return (*tokens)->find(*secret).caller;
}

// As an operator, unless the request has its caller.
inline transport::HttpResponse ask(const transport::Router& router,
                                   transport::HttpRequest request) {
  if (!request.caller) request.caller = caller(Role::operator_);
  const auto match = router.match(request);
  if (match.handler == nullptr) return *match.refusal;
  const auto sink = std::make_shared<AnswerSink>();
  (*match.handler)(std::move(request), transport::Responder{sink});
  return sink->get();
}

}  // namespace weir::control::testing
