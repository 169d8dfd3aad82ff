#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The dashboard of the real server, as a browser asks for it: the page or its notice, the files it names, who needs the
token, and the link that `weir dashboard` prints.

  tests/dashboard.py WEIR
"""

import gzip
import json
import os
import re
import subprocess
import sys
import urllib.parse

from api_contract import Checks, Server

VIEWS = ("/", "/jobs", "/jobs/1", "/jobs/a%20name", "/cluster", "/cluster/gpu-1", "/submit", "/simulations", "/sign-in")
NOTICE = b"This weir was built on a machine without Node"


class DashboardTest:
    def __init__(self, weir, server):
        self.weir, self.server, self.checks = weir, server, Checks()

    def get(self, target, status=200, **headers):
        answer = self.server.ask("GET", target, headers=headers, token=None)
        self.checks.equal(answer.status, status, f"GET {target} {headers}: status")
        return answer

    def views(self):
        first = self.get("/")
        is_notice = NOTICE in first.body
        print("without the page: the notice is served" if is_notice else f"the page has {len(first.body)} bytes")
        for view in VIEWS:
            answer = self.get(view)
            self.checks.equal(answer.body, first.body, f"{view}: the same page")
            self.checks.equal(answer.content_type, "text/html", f"{view}: content type")
            self.checks.that("default-src 'none'" in (answer.headers["Content-Security-Policy"] or ""), f"{view}: its policy")
            self.checks.equal(answer.headers["X-Content-Type-Options"], "nosniff", f"{view}: nosniff")
        if is_notice:
            self.get("/assets/index.js", 404)
        else:
            self.files(first)

    def files(self, page):
        names = sorted(set(re.findall(rb'"(/(?:assets/)?[\w.-]+\.(?:js|css|svg|woff2|png))"', page.body)))
        self.checks.that(len(names) > 0, "the page names its files")
        for name in (name.decode() for name in names):
            plain = self.get(name)
            packed = self.get(name, **{"Accept-Encoding": "gzip, br"})
            if packed.headers["Content-Encoding"] == "gzip":
                self.checks.equal(gzip.decompress(packed.body), plain.body, f"{name}: unpacked")
            self.checks.that(plain.headers["ETag"], f"{name}: ETag")
            again = self.get(name, 304, **{"If-None-Match": plain.headers["ETag"]})
            self.checks.equal(again.body, b"", f"{name}: nothing is sent again")
            kept = "immutable" in (plain.headers["Cache-Control"] or "")
            self.checks.equal(kept, name.startswith("/assets/"), f"{name}: kept for ever if it has a hash")

    def tokens(self):
        for target in ("/v1", "/v1/jobs", "/metrics", "/%76%31/jobs"):
            self.get(target, 401)
        for target in ("/nothing", "/index.html", "/assets/none.js", "/favicon.ico"):
            self.get(target, 404)
        answer = self.server.ask("GET", "/v1/jobs")
        self.checks.equal(answer.headers["Cache-Control"], "no-store", "answers of the API are kept by nobody")
        self.checks.equal(answer.headers["X-Content-Type-Options"], "nosniff", "answers of the API are what they say")

    def link(self):
        environment = {**os.environ, "WEIR_STATE": str(self.server.state), "HOME": str(self.server.folder)}
        for name in ("WEIR_SERVER", "WEIR_TOKEN", "WEIR_CONTEXT", "XDG_CONFIG_HOME"):
            environment.pop(name, None)

        def dashboard(*options):
            return subprocess.run([self.weir, "dashboard", *options], env=environment, check=True, capture_output=True,
                                  text=True).stdout

        parts = urllib.parse.urlsplit(dashboard().strip())
        self.checks.equal((parts.hostname, parts.port, parts.path), (self.server.host, self.server.port, "/"), "the link")
        token = urllib.parse.parse_qs(parts.fragment)["token"][0]
        self.checks.equal(self.server.ask("GET", "/v1/jobs", token=token).status, 200, "the link's token opens the API")
        self.checks.equal(json.loads(dashboard("--json"))["link"], parts.geturl(), "the link as JSON")
        self.checks.that(f"dashboard: http://{self.server.host}:{self.server.port}/ (" in self.server.messages(),
                         f"the server names its dashboard: {self.server.messages()}")

    def run(self):
        self.views()
        self.tokens()
        self.link()


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: dashboard.py WEIR")
    with Server(sys.argv[1]) as server:
        test = DashboardTest(sys.argv[1], server)
        test.run()
    sys.exit(test.checks.conclude("dashboard"))


if __name__ == "__main__":
    main()
