// SPDX-License-Identifier: Apache-2.0
#include "transport/request_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <cassert>
#include <optional>

#include "transport/request_target.h"

namespace weir::transport {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using BeastText = boost::beast::string_view;

constexpr std::size_t kLongestTarget = 8 << 10;
// A request line may be preceded by empty lines, which careless clients send after a body.
constexpr std::size_t kMostEmptyLines = 4;

std::string_view view(BeastText text) {
  return {text.data(), text.size()};
}

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

HttpResponse too_many_headers(const RequestLimits& limits) {
  return problem(431, "",
                 fmt::format("the header may have {} bytes and {} fields", limits.header_bytes,
                             limits.header_fields));
}

HttpResponse too_large_body(const RequestLimits& limits) {
  return problem(413, "", fmt::format("a body may have {} bytes", limits.body_bytes));
}

}  // namespace

// Beast finds the parts; they go straight into our request.
class RequestReader::Parser {
 public:
  Parser(const RequestLimits& limits, HttpRequest& request) : limits_{limits}, request_{request} {
    reset();
  }

  void reset() {
    beast_.emplace(*this);
    beast_->header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
    beast_->body_limit(limits_.body_bytes);
    beast_->eager(false);
    refusal_.reset();
    empty_lines_ = 0;
    header_bytes_ = 0;
    has_told_header_ = false;
    is_http_1_0_ = false;
    is_chunked_ = false;
    expects_continue_ = false;
  }

  std::size_t put(std::string_view bytes, error_code& error) {
    return beast_->put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  }

  // What our own checks complain about, if they did.
  std::optional<HttpResponse> refusal_;
  std::size_t empty_lines_ = 0;
  std::size_t header_bytes_ = 0;  // used so far
  bool has_told_header_ = false;
  bool is_http_1_0_ = false;
  bool is_chunked_ = false;
  bool expects_continue_ = false;

  bool has_begun() const { return beast_->got_some(); }
  bool has_header() const { return beast_->is_header_done(); }
  bool is_done() const { return beast_->is_done(); }
  bool keeps_alive() const { return beast_->keep_alive(); }

 private:
  class Beast final : public http::basic_parser<true> {
   public:
    explicit Beast(Parser& parser) : parser_{parser} {}

   private:
    void on_request_impl(http::verb, BeastText method, BeastText target, int version,
                         error_code& error) override {
      if (!parser_.take_request_line(view(method), view(target), version)) stop(error);
    }
    void on_response_impl(int, BeastText, int, error_code&) override {}
    void on_field_impl(http::field name, BeastText text, BeastText value,
                       error_code& error) override {
      if (!parser_.take_field(name, view(text), view(value))) stop(error);
    }
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code&) override {
      constexpr std::uint64_t kMostReserved = 64 << 10;  // more only once it has arrived
      if (length) parser_.request_.body.reserve(std::min(*length, kMostReserved));
    }
    std::size_t on_body_impl(BeastText body, error_code&) override {
      parser_.request_.body.append(body.data(), body.size());
      return body.size();
    }
    void on_chunk_header_impl(std::uint64_t, BeastText, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, BeastText body, error_code&) override {
      parser_.request_.body.append(body.data(), body.size());
      return body.size();
    }
    void on_finish_impl(error_code&) override {}

    static void stop(error_code& error) { error = http::error::bad_value; }
    Parser& parser_;
  };

  bool refuse(HttpResponse response) {
    refusal_ = std::move(response);
    return false;
  }

  bool take_request_line(std::string_view method, std::string_view target, int version) {
    if (target.size() > kLongestTarget) {
      return refuse(problem(414, "", fmt::format("a target may have {} bytes", kLongestTarget)));
    }
    is_http_1_0_ = version < 11;
    request_.method = method;
    request_.target = target;
    return true;
  }

  bool take_field(http::field name, std::string_view text, std::string_view value) {
    if (has_told_header_) return true;  // trailers mean nothing to us
    if (request_.headers.size() >= limits_.header_fields) return refuse(too_many_headers(limits_));
    if (name == http::field::content_length &&
        (!is_number(value) || request_.headers.find("Content-Length"))) {
      return refuse(problem(400, "", "Content-Length must be there once and be one number"));
    }
    if (name == http::field::transfer_encoding) {
      if (!same_header_name(value, "chunked")) {
        return refuse(problem(501, "", "the only Transfer-Encoding taken is chunked"));
      }
      if (is_http_1_0_) return refuse(problem(400, "", "HTTP/1.0 has no Transfer-Encoding"));
      is_chunked_ = true;
    }
    if (name == http::field::expect) {
      if (!same_header_name(value, "100-continue")) {
        return refuse(problem(417, "", "the only expectation taken is 100-continue"));
      }
      expects_continue_ = !is_http_1_0_;
    }
    request_.headers.add(std::string{text}, std::string{value});
    return true;
  }

  const RequestLimits& limits_;
  HttpRequest& request_;
  std::optional<Beast> beast_;
};

namespace {

HttpResponse explain(http::error error, const RequestLimits& limits) {
  switch (error) {
    case http::error::header_limit:
      return too_many_headers(limits);
    case http::error::body_limit:
      return too_large_body(limits);
    case http::error::bad_version:
      return problem(505, "", "this server speaks HTTP/1.1");
    case http::error::bad_method:
    case http::error::bad_target:
    case http::error::bad_line_ending:
      return problem(400, "", "the request line is not \"METHOD /path HTTP/1.1\"");
    case http::error::bad_field:
    case http::error::bad_value:
    case http::error::bad_obs_fold:
      return problem(400, "", "a header field is malformed");
    case http::error::bad_content_length:
    case http::error::multiple_content_length:
    case http::error::bad_transfer_encoding:
      return problem(400, "", "Content-Length and Transfer-Encoding contradict each other");
    case http::error::bad_chunk:
    case http::error::bad_chunk_extension:
      return problem(400, "", "the chunks of the body are malformed");
    default:
      return problem(400, "", "this is not an HTTP request");
  }
}

}  // namespace

RequestReader::RequestReader(RequestLimits limits)
    : limits_{limits}, parser_{std::make_unique<Parser>(limits_, request_)} {}

RequestReader::~RequestReader() = default;

void RequestReader::begin() {
  request_ = HttpRequest{};
  parser_->reset();
}

RequestReader::Step RequestReader::fail(HttpResponse failure) {
  failure_ = std::move(failure);
  return Step::failed;
}

RequestReader::Step RequestReader::finish_header() {
  const std::size_t hosts = request_.headers.count("Host");
  if (hosts > 1 || (hosts == 0 && !parser_->is_http_1_0_)) {
    return fail(problem(400, "", "the header must have one Host"));
  }
  if (request_.target == "*" && request_.method != "OPTIONS") {
    return fail(problem(400, "", "the target \"*\" is for OPTIONS only"));
  }
  std::string mistake;
  auto target = parse_request_target(request_.target, mistake);
  if (!target) return fail(problem(400, "", mistake));
  request_.segments = std::move(target->segments);
  request_.query = std::move(target->query);
  parser_->has_told_header_ = true;
  return Step::has_header;
}

RequestReader::Progress RequestReader::put(std::string_view bytes) {
  std::size_t used = 0;
  if (!parser_->has_begun()) {
    while (bytes.substr(used).starts_with("\r\n")) {
      used += 2;
      if (++parser_->empty_lines_ > kMostEmptyLines) {
        return {fail(problem(400, "", "too many empty lines before the request")), used};
      }
    }
    if (bytes.substr(used) == "\r") return {Step::needs_more, used};
  }
  while (!parser_->is_done() || !parser_->has_told_header_) {
    if (parser_->has_header() && !parser_->has_told_header_) return {finish_header(), used};
    if (used == bytes.size()) return {Step::needs_more, used};
    const bool is_in_header = !parser_->has_header();
    // Chunks end with at least these bytes. Beast 1.81 asserts that it is never called with fewer.
    constexpr std::string_view kShortestEnd = "0\r\n\r\n";
    if (!is_in_header && parser_->is_chunked_ && bytes.size() - used < kShortestEnd.size()) {
      return {Step::needs_more, used};
    }
    error_code error;
    const std::size_t taken = parser_->put(bytes.substr(used), error);
    used += taken;
    // Beast limits what it has not used yet; many small fields would pass.
    if (is_in_header) parser_->header_bytes_ += taken;
    if (parser_->header_bytes_ > limits_.header_bytes) {
      return {fail(too_many_headers(limits_)), used};
    }
    if (error == http::error::need_more) {
      // The rest is an unfinished header field, or an unfinished line of a chunk.
      const std::size_t rest = bytes.size() - used + (is_in_header ? parser_->header_bytes_ : 0);
      if (rest > limits_.header_bytes) return {fail(too_many_headers(limits_)), used};
      return {Step::needs_more, used};
    }
    if (error) {
      auto& refusal = parser_->refusal_;
      return {fail(refusal ? std::move(*refusal)
                           : explain(static_cast<http::error>(error.value()), limits_)),
              used};
    }
  }
  return {Step::has_request, used};
}

bool RequestReader::has_begun() const {
  return parser_->has_begun();
}
bool RequestReader::keeps_alive() const {
  return parser_->has_header() && parser_->keeps_alive();
}
bool RequestReader::is_http_1_0() const {
  return parser_->is_http_1_0_;
}
bool RequestReader::expects_continue() const {
  return parser_->expects_continue_;
}
bool RequestReader::has_body() const {
  return parser_->has_header() && !parser_->is_done();
}

}  // namespace weir::transport
