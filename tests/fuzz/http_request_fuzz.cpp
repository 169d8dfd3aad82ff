// SPDX-License-Identifier: Apache-2.0
//
// Bytes of a client, as the server reads and routes them: the same requests however the bytes arrive, within
// the limits, with safe segments; every refusal is a problem document.
#include <string>
#include <vector>

#include "round_trip_check.h"
#include "transport/request_reader.h"
#include "transport/router.h"
#include "transport/utf8.h"

namespace {

using namespace weir;
using transport::HttpRequest;
using transport::RequestReader;

constexpr transport::RequestLimits kLimits{200, 400, 8};

transport::Router routes() {
  transport::Router router;
  const transport::Handler nothing = [](const HttpRequest&, const transport::Responder&) {};
  router.add("GET", "/", nothing);
  router.add("POST", "/v1/jobs", nothing);
  router.add("GET", "/v1/jobs/{id}", nothing);
  router.add("GET", "/v1/jobs/{id}/logs", nothing);
  return router;
}

void check_request(HttpRequest& request) {
  static const transport::Router router = routes();
  fuzz::check(request.body.size() <= kLimits.body_bytes, "the body keeps its limit");
  fuzz::check(request.headers.size() <= kLimits.header_fields, "the header keeps its limit");
  for (const std::string& segment : request.segments) {
    fuzz::check(!segment.empty() && segment != "." && segment != "..", "a segment is a name");
    fuzz::check(segment.find('/') == std::string::npos, "a segment has no '/'");
    fuzz::check(segment.find('\0') == std::string::npos, "a segment has no NUL");
    fuzz::check(transport::is_utf8(segment), "a segment is UTF-8");
  }
  const auto match = router.match(request);
  fuzz::check((match.handler != nullptr) != match.refusal.has_value(), "an answer or a handler");
  if (match.refusal) {
    fuzz::check(match.refusal->status >= 200, "a refusal has a status");
    fuzz::check(transport::is_utf8(match.refusal->body), "a refusal is UTF-8");
  }
}

std::vector<std::string> requests_in(std::string_view bytes, std::size_t piece) {
  RequestReader reader{kLimits};
  std::vector<std::string> seen;
  std::string waiting;
  while (!bytes.empty()) {
    const std::size_t size = std::min(piece, bytes.size());
    waiting += bytes.substr(0, size);
    bytes.remove_prefix(size);
    while (true) {
      const auto [step, used] = reader.put(waiting);
      waiting.erase(0, used);
      if (step == RequestReader::Step::needs_more) break;
      if (step == RequestReader::Step::failed) {
        fuzz::check(reader.failure().content_type == transport::kProblemContentType,
                    "a failure is a problem document");
        fuzz::check(reader.failure().status >= 400, "a failure has its status");
        return seen;
      }
      if (step == RequestReader::Step::has_header) continue;
      check_request(reader.request());
      seen.push_back(reader.request().method + " " + reader.request().target + " " +
                     reader.request().body);
      reader.begin();
      if (waiting.empty()) break;
    }
    fuzz::check(waiting.size() <= kLimits.header_bytes + size, "little is kept unread");
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes = weir::fuzz::text_of(data, size);
  const auto whole = requests_in(bytes, bytes.size());
  weir::fuzz::check(requests_in(bytes, 1) == whole, "byte by byte gives the same requests");
  weir::fuzz::check(requests_in(bytes, 7) == whole, "pieces give the same requests");
  return 0;
}
