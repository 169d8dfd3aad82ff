// SPDX-License-Identifier: Apache-2.0
#include "transport/request_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace weir::transport {
namespace {

// What a reader makes of bytes that come in pieces of these sizes (the last again and again).
std::vector<std::string> read_all(std::string_view bytes, const std::vector<std::size_t>& cuts,
                                  RequestLimits limits = {}) {
  RequestReader reader{limits};
  std::vector<std::string> seen;
  std::string waiting;
  std::size_t piece = 0;
  while (!bytes.empty()) {
    const std::size_t wanted =
        cuts.empty() ? bytes.size() : cuts[std::min(piece++, cuts.size() - 1)];
    const std::size_t size = std::min(std::max<std::size_t>(wanted, 1), bytes.size());
    waiting += bytes.substr(0, size);
    bytes.remove_prefix(size);
    while (true) {
      const auto [step, used] = reader.put(waiting);
      waiting.erase(0, used);
      if (step == RequestReader::Step::needs_more) break;
      if (step == RequestReader::Step::failed) {
        seen.push_back("failed " + std::to_string(reader.failure().status));
        return seen;
      }
      if (step == RequestReader::Step::has_request) {
        const HttpRequest& request = reader.request();
        seen.push_back(request.method + " " + request.target + " " + request.body + " " +
                       std::to_string(request.headers.size()));
        reader.begin();
        if (waiting.empty()) break;
      }
    }
  }
  return seen;
}

rc::Gen<std::string> a_request() {
  return rc::gen::element<std::string>(
      "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "\r\nGET /a?b=c HTTP/1.1\r\nHost: h\r\nA: b\r\n\r\n",
      "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\nhello river",
      "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
      "PUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n6;e=1\r\n river\r\n0\r\nT: t\r\n\r\n",
      "PUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\nFolded: a\r\n b\r\n\r\n");
}

RC_GTEST_PROP(RequestReader, ItDoesNotMatterHowBytesArrive, ()) {
  std::string bytes;
  for (const std::string& request : *rc::gen::container<std::vector<std::string>>(a_request())) {
    bytes += request;
  }
  const auto cuts =
      *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 40));
  RC_ASSERT(read_all(bytes, cuts) == read_all(bytes, {}));
  RC_ASSERT(read_all(bytes, {1}) == read_all(bytes, {}));
}

std::vector<std::string> without_failure(std::vector<std::string> seen) {
  if (!seen.empty() && seen.back().starts_with("failed")) seen.pop_back();
  return seen;
}

// One changed byte may spoil a request or not; which requests there are never depends on how the bytes arrive.
// (When the end of a header is missing, its mistake may be seen at once or only when the end comes.)
RC_GTEST_PROP(RequestReader, ADamagedRequestIsReadTheSameInPieces, ()) {
  std::string bytes = *a_request() + *a_request();
  bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
  RC_ASSERT(without_failure(read_all(bytes, {1})) == without_failure(read_all(bytes, {})));
}

TEST(RequestReader, TellsTheHeaderBeforeTheBody) {
  RequestReader reader{{}};
  const std::string header =
      "POST /a%20b?c=d HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n"
      "Expect: 100-continue\r\n\r\n";
  const auto first = reader.put(header);
  EXPECT_EQ(first.step, RequestReader::Step::has_header);
  EXPECT_EQ(first.used, header.size());
  EXPECT_TRUE(reader.has_body());
  EXPECT_TRUE(reader.expects_continue());
  EXPECT_EQ(reader.request().segments, std::vector<std::string>{"a b"});
  EXPECT_EQ(reader.request().query_value("c"), "d");
  const auto second = reader.put("bodyGET");
  EXPECT_EQ(second.step, RequestReader::Step::has_request);
  EXPECT_EQ(second.used, 4U);
  EXPECT_TRUE(reader.keeps_alive());
}

TEST(RequestReader, ABodyInChunksMayEndByteByByte) {
  const std::string bytes =
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  EXPECT_EQ(read_all(bytes, {1}), read_all(bytes, {}));
  EXPECT_EQ(read_all(bytes, {1}), std::vector<std::string>{"POST /  2"});
}

TEST(RequestReader, TheWholeHeaderHasALimitAlsoInSmallPieces) {
  std::string bytes = "GET / HTTP/1.1\r\nHost: h\r\n";
  for (int i = 0; i < 50; ++i) bytes += "name: value\r\n";
  RequestLimits limits;
  limits.header_bytes = 200;
  for (const std::size_t piece : {1UL, 13UL, 100000UL}) {
    EXPECT_EQ(read_all(bytes + "\r\n", {piece}, limits), std::vector<std::string>{"failed 431"});
  }
}

TEST(RequestReader, TheBodyHasALimitAlsoInSmallChunks) {
  RequestLimits limits;
  limits.body_bytes = 10;
  std::string bytes = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 6; ++i) bytes += "2\r\nab\r\n";
  for (const std::size_t piece : {1UL, 13UL, 100000UL}) {
    EXPECT_EQ(read_all(bytes, {piece}, limits), std::vector<std::string>{"failed 413"});
  }
}

}  // namespace
}  // namespace weir::transport
