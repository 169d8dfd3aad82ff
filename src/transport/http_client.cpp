// SPDX-License-Identifier: Apache-2.0
#include "transport/http_client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace weir::transport {
namespace {

// curl must be set up once in a process, before threads use it; a local static is.
void set_up_curl() {
  static const CURLcode result = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(result);  // a failure shows when the first handle cannot be made
}

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using CurlList = std::unique_ptr<curl_slist, FreeList>;

struct CloseHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};

struct CloseUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// A proxy from the environment has no business between us and our own machine.
bool is_loopback_url(std::string_view url) {
  return url.find("//127.") != std::string_view::npos ||
         url.find("//localhost") != std::string_view::npos ||
         url.find("//[::1]") != std::string_view::npos;
}

// One transfer, as curl's callbacks see it.
struct Transfer {
  HttpReply reply;
  std::size_t most_bytes = 0;
  const std::function<bool(std::string_view)>* on_bytes = nullptr;
  const std::function<bool()>* should_stop = nullptr;
  const std::function<void()>* on_begin = nullptr;
  bool is_stopped = false;  // by us, which is no failure
  bool is_too_large = false;

  bool take_body(std::string_view bytes) {
    if (on_bytes != nullptr && reply.succeeded()) {
      is_stopped = !(*on_bytes)(bytes);
      return !is_stopped;
    }
    is_too_large = reply.body.size() + bytes.size() > most_bytes;
    if (!is_too_large) reply.body += bytes;
    return !is_too_large;
  }

  void take_header(std::string_view line) {
    if (line.starts_with("HTTP/")) {  // a new response: what came before was "100 Continue"
      reply = HttpReply{};
      const std::size_t space = std::min(line.find(' '), line.size());
      reply.status = std::atoi(std::string{line.substr(space)}.c_str());
      return;
    }
    if (on_begin != nullptr && reply.succeeded() && trimmed(line).empty()) (*on_begin)();
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    reply.headers.add(std::string{line.substr(0, colon)},
                      std::string{trimmed(line.substr(colon + 1))});
  }
};

// What curl calls. An exception must not pass through it.
std::size_t body_callback(char* bytes, std::size_t, std::size_t size, void* transfer) noexcept {
  return static_cast<Transfer*>(transfer)->take_body({bytes, size}) ? size : size + 1;
}

std::size_t header_callback(char* bytes, std::size_t, std::size_t size, void* transfer) noexcept {
  static_cast<Transfer*>(transfer)->take_header({bytes, size});
  return size;
}

int progress_callback(void* pointer, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept {
  Transfer& transfer = *static_cast<Transfer*>(pointer);
  if (transfer.should_stop != nullptr && (*transfer.should_stop)()) transfer.is_stopped = true;
  return transfer.is_stopped ? 1 : 0;
}

}  // namespace

class HttpClient::Impl {
 public:
  explicit Impl(HttpClientOptions options)
      : base_url{std::move(options.base_url)}, options_{std::move(options)} {
    set_up_curl();
    handle_.reset(curl_easy_init());
    while (base_url.ends_with('/')) base_url.pop_back();
    name_server();
  }

  Result<HttpReply> send(std::string_view method, std::string_view path, std::string_view body,
                         std::string_view content_type, const HeaderList& headers,
                         bool is_packed = false) {
    Transfer transfer;
    HeaderList all = headers;
    const bool has_body = !body.empty() || method == "POST" || method == "PUT" || method == "PATCH";
    if (has_body && !content_type.empty()) all.add("Content-Type", std::string{content_type});
    const std::string verb{method};
    prepare(path, transfer);
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(options_.limits.total_time.count()));
    if (has_body) {
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
      set(CURLOPT_POSTFIELDS, body.data() == nullptr ? "" : body.data());
    } else if (method == "HEAD") {
      set(CURLOPT_NOBODY, 1L);
    }
    set(CURLOPT_CUSTOMREQUEST, verb.c_str());
    if (is_packed) set(CURLOPT_ACCEPT_ENCODING, "gzip");
    return perform(all, transfer);
  }

  Result<HttpReply> stream(std::string_view path, const HeaderList& headers,
                           const std::function<bool(std::string_view)>& on_bytes,
                           const std::function<bool()>& should_stop,
                           const std::function<void()>& on_begin) {
    Transfer transfer;
    transfer.on_bytes = &on_bytes;
    if (should_stop) transfer.should_stop = &should_stop;
    if (on_begin) transfer.on_begin = &on_begin;
    prepare(path, transfer);
    const auto silence =
        std::chrono::duration_cast<std::chrono::seconds>(options_.limits.silence_time);
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, std::max(1L, static_cast<long>(silence.count())));
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    return perform(headers, transfer);
  }

  std::string base_url;

 private:
  template <class Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(handle_.get(), option, value);
  }

  // A certificate with another name than the URL's: curl is told that name, and where to find it.
  void name_server() {
    url_ = base_url;
    const std::string& name = options_.tls.server_name;
    if (name.empty()) return;
    std::unique_ptr<CURLU, CloseUrl> parts{curl_url()};
    if (!parts || curl_url_set(parts.get(), CURLUPART_URL, base_url.c_str(), 0) != CURLUE_OK)
      return;
    const std::string host = part_of(parts.get(), CURLUPART_HOST);
    const std::string port = part_of(parts.get(), CURLUPART_PORT);
    if (host == name || curl_url_set(parts.get(), CURLUPART_HOST, name.c_str(), 0) != CURLUE_OK)
      return;
    url_ = part_of(parts.get(), CURLUPART_URL);
    while (url_.ends_with('/')) url_.pop_back();
    host_header_ = "Host: " + host + ":" + port;
    connect_to_.reset(
        curl_slist_append(nullptr, fmt::format("{}:{}:{}:{}", name, port, host, port).c_str()));
  }

  static std::string part_of(CURLU* url, CURLUPart part) {
    char* text = nullptr;
    if (curl_url_get(url, part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
    std::string copy = text;
    curl_free(text);
    return copy;
  }

  void set_bytes(CURLoption option, const std::string& bytes) {
    curl_blob blob{const_cast<char*>(bytes.data()), bytes.size(), CURL_BLOB_NOCOPY};
    curl_easy_setopt(handle_.get(), option, &blob);
  }

  void set_identities() {
    const HttpTls& tls = options_.tls;
    if (!tls.authorities.empty()) {
      set(CURLOPT_CAPATH, static_cast<char*>(nullptr));  // these and no others
      set_bytes(CURLOPT_CAINFO_BLOB, tls.authorities);
    }
    if (!tls.client_certificate.empty()) {
      set(CURLOPT_SSLCERTTYPE, "PEM");
      set_bytes(CURLOPT_SSLCERT_BLOB, tls.client_certificate);
      set(CURLOPT_SSLKEYTYPE, "PEM");
      set_bytes(CURLOPT_SSLKEY_BLOB, tls.client_key);
    }
    if (!tls.pinned_key.empty()) set(CURLOPT_PINNEDPUBLICKEY, tls.pinned_key.c_str());
    if (tls.is_unchecked || !tls.pinned_key.empty()) {
      set(CURLOPT_SSL_VERIFYPEER, 0L);
      set(CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (connect_to_) set(CURLOPT_CONNECT_TO, connect_to_.get());
    if (!options_.user.empty()) {
      set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
      set(CURLOPT_USERNAME, options_.user.c_str());
      set(CURLOPT_PASSWORD, options_.password.c_str());
    }
  }

  void set_proxy() {
    if (!options_.proxy.empty()) {
      set(CURLOPT_PROXY, options_.proxy.c_str());
    } else if (is_loopback_url(base_url)) {
      set(CURLOPT_PROXY, "");
    }
  }

  void prepare(std::string_view path, Transfer& transfer) {
    transfer.most_bytes = options_.limits.reply_bytes;
    if (!handle_) return;
    curl_easy_reset(handle_.get());  // keeps the connection
    const std::string url = url_ + std::string{path};
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_USERAGENT, options_.user_agent.c_str());
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.limits.connect_time.count()));
    set_proxy();
    set_identities();
    set(CURLOPT_WRITEFUNCTION, &body_callback);
    set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
    set(CURLOPT_HEADERFUNCTION, &header_callback);
    set(CURLOPT_HEADERDATA, static_cast<void*>(&transfer));
    set(CURLOPT_XFERINFOFUNCTION, &progress_callback);
    set(CURLOPT_XFERINFODATA, static_cast<void*>(&transfer));
    set(CURLOPT_NOPROGRESS, 0L);
    error_text_[0] = '\0';
    set(CURLOPT_ERRORBUFFER, error_text_.data());
  }

  Result<HttpReply> perform(const HeaderList& headers, Transfer& transfer) {
    if (!handle_) return unreachable(CURLE_FAILED_INIT);
    CurlList list = header_lines(headers);
    set(CURLOPT_HTTPHEADER, list.get());
    const CURLcode code = curl_easy_perform(handle_.get());
    set(CURLOPT_HTTPHEADER, nullptr);
    if (transfer.is_too_large) return too_large();
    if (code != CURLE_OK && !transfer.is_stopped) return unreachable(code);
    return std::move(transfer.reply);
  }

  CurlList header_lines(const HeaderList& headers) const {
    CurlList list;
    const auto add = [&](const std::string& line) {
      // A line feed in a value would begin another header.
      if (line.find_first_of("\r\n") != std::string::npos) return;
      if (curl_slist* longer = curl_slist_append(list.get(), line.c_str())) {
        static_cast<void>(list.release());
        list.reset(longer);
      }
    };
    for (const auto& [name, value] : headers) {
      add(value.empty() ? name + ";" : name + ": " + value);
    }
    if (!host_header_.empty()) add(host_header_);
    if (!options_.token.empty()) add("Authorization: Bearer " + options_.token);
    return list;
  }

  tl::unexpected<Error> unreachable(CURLcode code) const {
    std::string_view field = "the connection";
    std::string found = error_text_[0] != '\0' ? error_text_.data() : curl_easy_strerror(code);
    std::string expected = options_.expected_server;
    if (code == CURLE_COULDNT_CONNECT) {
      found = "refused";
    } else if (code == CURLE_OPERATION_TIMEDOUT) {
      field = "the answer";
      found = "not there in time";
      expected = "one within the time limit; is the server overloaded or stopped?";
    } else if (code == CURLE_COULDNT_RESOLVE_HOST) {
      field = "the host name";
      found = "unknown";
      expected = "a name or address that exists";
    } else if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL) {
      field = "the URL";
      found = base_url;
      expected = "http://HOST:PORT";
    } else if (code == CURLE_PEER_FAILED_VERIFICATION) {
      field = "the server's certificate";
      expected = "one that its certificate authority has signed for this name";
    } else if (code == CURLE_SSL_PINNEDPUBKEYNOTMATCH) {
      field = "the server's key";
      found = "another one";
      expected = "the key with the fingerprint that was given; is that the right server?";
    } else if (code == CURLE_SSL_CERTPROBLEM) {
      field = "the client certificate";
      expected = "a certificate and the key that belongs to it, both as PEM";
    } else if (code == CURLE_SSL_CACERT_BADFILE) {
      field = "the certificate authority";
      expected = "one or more certificates as PEM";
    } else if (code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR ||
               code == CURLE_PARTIAL_FILE) {
      field = "the answer";
      found = "cut off";
      expected = "a whole one; did the server stop?";
    }
    return failed("cannot reach " + base_url, field, std::move(found), std::move(expected));
  }

  tl::unexpected<Error> too_large() const {
    return failed(base_url, "the answer", "too large",
                  fmt::format("at most {} bytes", options_.limits.reply_bytes));
  }

  static tl::unexpected<Error> failed(std::string what, std::string_view field, std::string found,
                                      std::string expected) {
    Diagnostics details;
    details.add(
        Diagnostic{std::move(what), 0, std::string{field}, std::move(found), std::move(expected)});
    return tl::unexpected(Error{ErrorCode::unavailable, std::move(details)});
  }

  std::unique_ptr<CURL, CloseHandle> handle_;
  HttpClientOptions options_;
  std::string url_;          // with the name that the server's certificate has
  std::string host_header_;  // when that is not the name of base_url
  CurlList connect_to_;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
};

HttpClient::HttpClient(std::string base_url, std::string token, HttpClientLimits limits) {
  HttpClientOptions options;
  options.base_url = std::move(base_url);
  options.token = std::move(token);
  options.limits = limits;
  impl_ = std::make_unique<Impl>(std::move(options));
}
HttpClient::HttpClient(HttpClientOptions options)
    : impl_{std::make_unique<Impl>(std::move(options))} {}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;

Result<HttpReply> HttpClient::send(std::string_view method, std::string_view path,
                                   std::string_view body, std::string_view content_type,
                                   const HeaderList& headers) {
  return impl_->send(method, path, body, content_type, headers);
}

Result<HttpReply> HttpClient::get(std::string_view path, const HeaderList& headers) {
  return send("GET", path, "", "", headers);
}

Result<HttpReply> HttpClient::get_packed(std::string_view path, const HeaderList& headers) {
  return impl_->send("GET", path, "", "", headers, true);
}

Result<HttpReply> HttpClient::stream(std::string_view path, const HeaderList& headers,
                                     const std::function<bool(std::string_view bytes)>& on_bytes,
                                     const std::function<bool()>& should_stop,
                                     const std::function<void()>& on_begin) {
  return impl_->stream(path, headers, on_bytes, should_stop, on_begin);
}

const std::string& HttpClient::base_url() const {
  return impl_->base_url;
}

}  // namespace weir::transport
