// SPDX-License-Identifier: Apache-2.0
//
// Requests and responses as plain values. Who handles one sees no socket and no HTTP library.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/diagnostics.h"

namespace weir::transport {

// Names compare without regard to case. Order and repeats are kept.
class HeaderList {
 public:
  using Field = std::pair<std::string, std::string>;

  HeaderList() = default;
  HeaderList(std::initializer_list<Field> fields) : fields_{fields} {}

  void add(std::string name, std::string value) {
    fields_.emplace_back(std::move(name), std::move(value));
  }
  // The first value of that name.
  std::optional<std::string_view> find(std::string_view name) const;
  std::size_t count(std::string_view name) const;
  void clear() { fields_.clear(); }
  std::size_t size() const { return fields_.size(); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }

 private:
  std::vector<Field> fields_;
};

// The same letters, upper or lower case (ASCII only).
bool same_header_name(std::string_view a, std::string_view b);

// Who sends a request, as the gate found out. The server carries it to handlers, to the access hook, and to
// streams, which end when it is welcome no more.
class Caller {
 public:
  virtual ~Caller() = default;
  virtual std::string_view name() const = 0;  // for people; tells no secret
  virtual std::string_view role() const = 0;
  virtual bool is_welcome() const = 0;  // from any thread, several times a second
};

struct HttpRequest {
  std::string method;  // "GET"; capital letters as sent
  std::string target;  // as sent: "/v1/jobs/7?tail=10"
  std::vector<std::string>
      segments;  // decoded: {"v1", "jobs", "7"}; UTF-8, no '/', no NUL, no ".."
  std::vector<std::pair<std::string, std::string>> query;       // decoded, in order
  std::vector<std::pair<std::string, std::string>> parameters;  // of the route: {"id", "7"}
  std::string_view route;  // the pattern that matched: "/v1/jobs/{id}"; lives as long as the server
  HeaderList headers;
  std::string body;
  std::string peer;                      // "127.0.0.1:51234"
  std::shared_ptr<const Caller> caller;  // set by the gate; null: nobody asked

  // The value of "{name}" in the route's pattern. Requires: the pattern has it.
  std::string_view parameter(std::string_view name) const;
  // The first query parameter of that name.
  std::optional<std::string_view> query_value(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";  // empty: no such header
  std::string body;
  HeaderList headers;  // beyond Content-Type, Content-Length, Date and Connection
};

inline constexpr std::string_view kProblemContentType = "application/problem+json";

// Problem details (RFC 9457). `errors` lists single mistakes: {"where", "field", "found",
// "expected", "message"}. An empty title becomes the usual name of the status.
HttpResponse problem(int status, std::string_view title, std::string_view detail,
                     const Diagnostics& errors = {});

// "Not Found"
std::string_view reason_phrase(int status);

// Appends a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace weir::transport
