# SPDX-License-Identifier: Apache-2.0
"""What clients were told, and whether the server still says the same.

Answers overtake each other: what a client was told counts only against requests that began later.
"""
import threading
import time

OVER = ("finished", "failed", "cancelled", "refused")
NEVER_CHANGES = ("name", "submitted", "deadline", "deadline_kind", "iterations")


class Submission:
    def __init__(self, name, key, body):
        self.name = name
        self.key = key  # None: without
        self.body = body
        self.id = None  # when it is acknowledged
        self.is_lost = False  # an answer did not come: it may be there or not
        self.times_refused = 0  # 503, or nobody listened: it must not be there


class Known:
    """A job as it was seen."""

    def __init__(self, view, at):
        self.fixed = {name: view.get(name) for name in NEVER_CHANGES}
        self.seen_at = at
        self.promised_at = None
        self.cancelled_at = None  # a cancellation was acknowledged
        self.over_at = None
        self.final = None
        self.phase = view["phase"]


class Ledger:
    def __init__(self):
        self.lock = threading.Lock()
        self.submissions = {}  # by name
        self.known = {}  # by id
        self.wrong = []
        self.counts = {}

    def count(self, what, more=1):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + more

    def complain(self, text):
        with self.lock:
            self.wrong.append(text)

    def add(self, submission):
        with self.lock:
            self.submissions[submission.name] = submission

    def live(self):
        with self.lock:
            return [job for job, known in self.known.items() if known.final is None]

    def acknowledged(self, submission, view):
        with self.lock:
            if submission.id is not None and submission.id != view["id"]:
                self.wrong.append(f"key {submission.key} gave job {submission.id} first, then job {view['id']}")
            submission.id = view["id"]

    def cancelled(self, job):
        with self.lock:
            self.known[job].cancelled_at = self.known[job].cancelled_at or time.monotonic()

    def see(self, view, began):
        """A view that came as the answer to a request that began then."""
        now = time.monotonic()
        with self.lock:
            job = view["id"]
            submission = self.submissions.get(view["name"])
            if submission is None:
                self.wrong.append(f"job {job} is called {view['name']}, which nobody submitted")
                return
            if submission.id is not None and submission.id != job:
                self.wrong.append(f"{view['name']} (key {submission.key}) is job {submission.id} and job {job}")
            if job not in self.known:
                self.known[job] = Known(view, now)
            known = self.known[job]
            for name, value in known.fixed.items():
                if view.get(name) != value:
                    self.wrong.append(f"job {job}: {name} was {value!r} and is {view.get(name)!r}")
            if view.get("promised"):
                known.promised_at = known.promised_at or now
            elif known.promised_at is not None and known.promised_at < began:
                self.wrong.append(f"job {job}: the promise of {known.fixed['deadline']} is forgotten: {view}")
            is_over = view["phase"] in OVER
            if known.final is not None:
                if (is_over or known.over_at < began) and view != known.final:
                    self.wrong.append(f"job {job} was over and changed: {known.final} -> {view}")
            elif is_over:
                known.final, known.over_at = view, now
            elif known.cancelled_at is not None and known.cancelled_at < began:
                self.wrong.append(f"job {job} was cancelled and is {view['phase']}")
            known.phase = view["phase"]

    def see_all(self, views, began):
        """Every job there is, asked for at that time."""
        ids = [view["id"] for view in views]
        names = {view["name"] for view in views}
        if ids != sorted(set(ids)):
            self.complain("jobs are listed twice or out of order")
        if len(names) != len(ids):
            twice = sorted(view["name"] for view in views)
            twice = {a for a, b in zip(twice, twice[1:]) if a == b}
            self.complain(f"submitted once and there twice: {sorted(twice)[:5]}")
        if ids and ids != list(range(1, len(ids) + 1)):
            self.complain("ids of jobs have holes")
        for view in views:
            self.see(view, began)
        present = set(ids)
        with self.lock:
            for job, known in self.known.items():
                if job not in present and known.seen_at < began:
                    self.wrong.append(f"job {job} ({known.fixed['name']}) was there and is lost")
            for submission in self.submissions.values():
                is_clear = submission.id is None and not submission.is_lost and submission.times_refused > 0
                if is_clear and submission.name in names:
                    self.wrong.append(f"{submission.name} was never taken and is there")

    def promises(self):
        with self.lock:
            return [job for job, known in self.known.items() if known.promised_at is not None]
