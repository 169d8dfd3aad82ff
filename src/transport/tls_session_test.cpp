// SPDX-License-Identifier: Apache-2.0
#include "transport/tls_session.h"

#include <gmock/gmock.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "transport/generated_certificate.h"
#include "transport/http_client.h"
#include "transport/raw_client_testing.h"
#include "transport/test_server_testing.h"

namespace weir::transport {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Tls : public ::testing::Test {
 protected:
  Tls() {
    std::string pattern = (fs::temp_directory_path() / "weir-tls-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    make(names_);
  }
  ~Tls() override { fs::remove_all(folder_); }

  void make(const std::vector<std::string>& names) {
    const auto made = ensure_certificate(certificate(), key(), names);
    ASSERT_TRUE(made) << to_string(made.error().details);
  }
  fs::path certificate() const { return folder_ / "cert.pem"; }
  fs::path key() const { return folder_ / "key.pem"; }
  std::shared_ptr<const TlsIdentity> identity() const {
    auto loaded = TlsIdentity::load(certificate(), key());
    EXPECT_TRUE(loaded) << to_string(loaded.error().details);
    return *loaded;
  }
  std::unique_ptr<HttpServer> server(HttpServerOptions options = {},
                                     Router router = common_routes()) const {
    options.tls = identity();
    return started(std::move(options), std::move(router));
  }
  HttpClient client(const HttpServer& server) const {
    HttpClientOptions options;
    options.base_url = server.url();
    options.tls.authorities = text_of(certificate());
    return HttpClient{options};
  }
  static std::string text_of(const fs::path& file) {
    std::stringstream text;
    text << std::ifstream{file}.rdbuf();
    return text.str();
  }
  static std::string trouble(const Result<HttpReply>& reply) {
    return reply ? "none" : to_string(reply.error().details);
  }

  std::vector<std::string> names_{"localhost", "127.0.0.1", "::1"};
  fs::path folder_;
};

TEST_F(Tls, CarriesRequestsAndAnswersOfAnySize) {
  Router router = common_routes();
  router.add("GET", "/large", [](const HttpRequest&, Responder responder) {
    responder.send(plain(std::string(5'000'000, 'x')));
  });
  const auto at = server({}, std::move(router));
  EXPECT_THAT(at->url(), StartsWith("https://127.0.0.1:"));
  HttpClient asks = client(*at);
  for (int i = 0; i < 3; ++i) {
    const auto reply = asks.get("/hello");
    ASSERT_TRUE(reply) << trouble(reply);
    EXPECT_EQ(reply->body, "hello");
  }
  const std::string body(1 << 20, 'b');
  const auto echoed = asks.send("POST", "/echo", body);
  ASSERT_TRUE(echoed) << trouble(echoed);
  EXPECT_EQ(echoed->body, body);
  EXPECT_EQ(asks.get("/large")->body.size(), 5'000'000U);
  EXPECT_EQ(at->open_connections(), 1U) << "the connection is kept";
}

TEST_F(Tls, CarriesStreams) {
  Router router;
  router.add("GET", "/events", [](const HttpRequest&, Responder responder) {
    const EventStream stream = responder.stream(event_stream_head());
    for (int i = 0; i < 1000; ++i) stream.write(std::to_string(i), "tick", std::string(300, 'd'));
  });
  const auto at = server({}, std::move(router));
  std::string all;
  const auto done = client(*at).stream("/events", {}, [&](std::string_view bytes) {
    all += bytes;
    return true;
  });
  ASSERT_TRUE(done) << trouble(done);
  EXPECT_THAT(all, HasSubstr("id: 999"));
}

TEST_F(Tls, AClientTrustsTheCertificateOrTheKeyAndNobodyElse) {
  const auto at = server();
  HttpClientOptions options;
  options.base_url = at->url();
  EXPECT_THAT(trouble(HttpClient{options}.get("/hello")), HasSubstr("certificate"));
  options.tls.pinned_key = identity()->fingerprint();
  EXPECT_EQ(HttpClient{options}.get("/hello")->body, "hello");
  options.tls.pinned_key = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
  EXPECT_THAT(trouble(HttpClient{options}.get("/hello")), HasSubstr("is that the right server?"));
}

TEST_F(Tls, PlainHttpGetsNoAnswer) {
  const auto at = server();
  RawClient client{at->port()};
  client.send(get("/hello"));
  EXPECT_EQ(client.read_all().find("hello"), std::string::npos);
}

TEST_F(Tls, NoiseAndSilenceDoNoHarm) {
  HttpServerOptions options;
  options.header_time = std::chrono::milliseconds{200};
  options.idle_time = std::chrono::milliseconds{200};
  const auto at = server(std::move(options));
  RawClient silent{at->port()};
  RawClient noisy{at->port()};
  noisy.send(std::string(100'000, '\x16'));
  EXPECT_TRUE(noisy.is_closed_by_server());
  EXPECT_TRUE(silent.is_closed_by_server()) << "a handshake has the time of a header";
  EXPECT_EQ(client(*at).get("/hello")->body, "hello");
}

// A client of OpenSSL's on a session without a socket: what both agree on.
std::string agreed(const TlsIdentity& identity, int least, int most, const char* ciphers) {
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_security_level(context, 0);
  SSL_CTX_set_min_proto_version(context, least);
  SSL_CTX_set_max_proto_version(context, most);
  SSL_CTX_set_cipher_list(context, ciphers);
  SSL* const client = SSL_new(context);
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  BIO_set_mem_eof_return(in, -1);
  SSL_set_bio(client, in, out);
  SSL_set_connect_state(client);
  TlsSession server{identity};
  std::string result = "none";
  char room[64];
  for (int i = 0; i < 10 && !server.is_broken(); ++i) {
    if (SSL_do_handshake(client) == 1) {
      result = std::string{SSL_get_version(client)} + " " + SSL_get_cipher_name(client);
      break;
    }
    std::string bytes(BIO_ctrl_pending(out), '\0');
    if (!bytes.empty()) BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
    server.receive(bytes);
    server.read(room, sizeof room);
    const std::string answer = server.take_output();
    if (!answer.empty()) BIO_write(in, answer.data(), static_cast<int>(answer.size()));
  }
  SSL_free(client);
  SSL_CTX_free(context);
  ERR_clear_error();
  return result;
}

TEST_F(Tls, SpeaksModernVersionsAndCiphersOnly) {
  const auto ours = identity();
  EXPECT_THAT(agreed(*ours, TLS1_3_VERSION, TLS1_3_VERSION, "ALL"), StartsWith("TLSv1.3 "));
  EXPECT_THAT(agreed(*ours, TLS1_2_VERSION, TLS1_2_VERSION, "ALL"), StartsWith("TLSv1.2 ECDHE"));
  EXPECT_EQ(agreed(*ours, TLS1_1_VERSION, TLS1_1_VERSION, "ALL:@SECLEVEL=0"), "none");
  EXPECT_EQ(agreed(*ours, TLS1_VERSION, TLS1_VERSION, "ALL:@SECLEVEL=0"), "none");
  for (const char* weak : {"eNULL:@SECLEVEL=0", "aNULL:@SECLEVEL=0", "ECDHE-ECDSA-AES128-SHA",
                           "ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-AES256-SHA384", "AES128-SHA",
                           "AES128-GCM-SHA256", "DHE:!ECDHE", "PSK"}) {
    EXPECT_EQ(agreed(*ours, TLS1_2_VERSION, TLS1_2_VERSION, weak), "none") << weak;
  }
}

TEST_F(Tls, ThePairIsMadeOnceAndTheKeyStays) {
  struct stat about {};
  ASSERT_EQ(stat(key().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
  const std::string first = text_of(certificate());
  const std::string fingerprint = identity()->fingerprint();
  EXPECT_THAT(fingerprint, StartsWith("sha256//"));
  EXPECT_EQ(fingerprint.size(), 52U);
  make(names_);
  EXPECT_EQ(text_of(certificate()), first);
  names_.emplace_back("10.1.2.3");
  make(names_);
  EXPECT_NE(text_of(certificate()), first) << "it has another name";
  EXPECT_EQ(identity()->fingerprint(), fingerprint) << "and the same key";
  std::ofstream{certificate()} << "no certificate";
  make(names_);
  EXPECT_EQ(identity()->fingerprint(), fingerprint);
}

TEST_F(Tls, MistakesAreNamedAllAtOnce) {
  const auto mistakes = [](const fs::path& certificate, const fs::path& key) {
    const auto loaded = TlsIdentity::load(certificate, key);
    EXPECT_FALSE(loaded);
    return loaded ? "none" : to_string(loaded.error().details);
  };
  EXPECT_THAT(mistakes(folder_ / "a", folder_ / "b"),
              AllOf(HasSubstr("/a: the certificate is \"missing\""),
                    HasSubstr("/b: the key is \"missing\"")));
  EXPECT_THAT(mistakes(key(), key()), HasSubstr("expected a certificate as PEM"));
  EXPECT_THAT(mistakes(certificate(), certificate()), HasSubstr("private key as PEM"));
  ASSERT_TRUE(ensure_certificate(folder_ / "c2", folder_ / "k2", names_));
  EXPECT_THAT(mistakes(certificate(), folder_ / "k2"), HasSubstr("of another certificate"));
  chmod(key().c_str(), 0644);
  EXPECT_THAT(mistakes(certificate(), key()), HasSubstr("chmod 600"));
}

TEST_F(Tls, OtherAddressesAreForServersWithTls) {
  HttpServerOptions options;
  options.address = "0.0.0.0";
  const auto at = server(std::move(options));
  EXPECT_THAT(at->url(), StartsWith("https://127.0.0.1:"));
  EXPECT_EQ(client(*at).get("/hello")->body, "hello");
}

}  // namespace
}  // namespace weir::transport
