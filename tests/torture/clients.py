# SPDX-License-Identifier: Apache-2.0
"""Clients that submit, cancel and read without pause, and write down what they were told."""
import json
import random
import threading
import time
import traceback

from ledger import OVER, Submission
from server import Connection

# Models whose speed the server is told; the job program is a little faster.
MODELS = {f"model-{i}": {str(g): round(rate * g**0.85, 3) for g in (1, 2, 4, 8)}
          for i, rate in enumerate((20.0, 35.0, 50.0))}
SLACK = 0.8  # of the time that is declared, what a job really takes


def seconds(value):
    return f"{max(0.001, value):.3f}s"


class Load:
    def __init__(self, server, ledger, job_program, marks, clients=32, seed=1, most_live=60, nodes=()):
        self.server = server
        self.ledger = ledger
        self.job_program = job_program
        self.marks = marks
        self.most_live = most_live
        self.nodes = nodes
        self.is_stopping = threading.Event()
        self.name_prefix = f"s{seed}"
        self.threads = [threading.Thread(target=self.run, args=(i, random.Random(seed * 1000 + i)), daemon=True)
                        for i in range(clients)]

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.is_stopping.set()
        for thread in self.threads:
            thread.join()

    def run(self, number, rng):
        try:
            Client(self, number, rng).run()
        except Exception:  # a client that dies silently would be a check that cannot fail
            self.ledger.complain("a client gave up:\n" + traceback.format_exc())

    def document(self, name, rng):
        draw = rng.random()
        job = {"name": name, "grace": "3s"}
        if draw < 0.4:
            model = rng.choice(sorted(MODELS))
            steps = rng.randint(20, 120)
            rate = MODELS[model]["1"]
            job.update(command=[self.job_program, self.marks, "train", str(steps), str(SLACK * 1000 / rate)],
                       iterations=steps, model=model, throughput=MODELS[model], reports_progress=True)
            length = steps / rate
        else:
            length = rng.uniform(0.1, 1.2)
            code = rng.choice((0, 3)) if draw > 0.9 else 0
            job.update(command=[self.job_program, self.marks, "plain", str(round(SLACK * length * 1000)), str(code)],
                       duration=seconds(length), gpus=rng.choice((1, 1, 1, 2, 2, 4)))
            if code != 0:
                job["retries"] = rng.randint(0, 2)
            if job["gpus"] > 1 and rng.random() < 0.3:
                job["ranks"] = "per-gpu"
        draw = rng.random()
        if draw < 0.35:
            job["deadline"] = seconds(length + rng.uniform(5, 40))
        elif draw < 0.5:
            job["deadline"] = seconds(length + rng.uniform(0, 2))
        elif draw < 0.6:
            job.update(deadline=seconds(length + rng.uniform(0, 20)), kind="soft")
        return job


class Client:
    def __init__(self, load, number, rng):
        self.load = load
        self.ledger = load.ledger
        self.rng = rng
        self.number = number
        self.link = Connection(load.server)
        self.made = 0
        self.unanswered = []
        self.mine = []

    def run(self):
        while not self.load.is_stopping.is_set():
            self.step()
            self.load.is_stopping.wait(self.rng.expovariate(1 / 0.08))
        self.link.close()

    def step(self):
        draw = self.rng.random()
        if self.unanswered and draw < 0.3:
            self.try_again()
        elif draw < 0.55 and len(self.ledger.live()) < self.load.most_live:
            self.submit_new()
        elif draw < 0.65 and self.mine:
            self.repeat()
        elif draw < 0.72 and self.mine:
            self.cancel()
        elif draw < 0.73 and self.load.nodes:
            self.link.ask("POST", f"/v1/nodes/{self.rng.choice(self.load.nodes)}/" +
                          ("drain" if self.rng.random() < 0.3 else "undrain"))
        else:
            self.read()

    def submit_new(self):
        self.made += 1
        name = f"{self.load.name_prefix}-c{self.number}-{self.made}"
        key = f"key-{name}" if self.rng.random() < 0.8 else None
        body = json.dumps(self.load.document(name, self.rng))
        submission = Submission(name, key, body)
        self.ledger.add(submission)
        self.send(submission)

    def send(self, submission):
        began = time.monotonic()
        headers = {"Idempotency-Key": submission.key} if submission.key else {}
        was_lost, submission.is_lost = submission.is_lost, True  # until an answer says what became of it
        answer = self.link.ask("POST", "/v1/jobs", submission.body, headers)
        if answer is None:
            if self.link.is_unheard:
                submission.is_lost = was_lost
                submission.times_refused += 1
            else:
                self.ledger.count("answers lost")
            if submission.key and self.rng.random() < 0.7:
                self.unanswered.append(submission)
            return
        if answer.status in (200, 201, 422):
            view = answer.json()
            if "id" not in view:
                self.ledger.complain(f"{submission.name} was taken for malformed: {view}")
                return
            is_first = submission.id is None
            if is_first and answer.status == 200 and not was_lost:
                self.ledger.complain(f"{submission.name} is new, but was answered with 200: {view}")
            if not is_first and answer.status != 200:
                self.ledger.complain(f"{submission.name} is job {submission.id}, but was answered with "
                                     f"{answer.status}: {view}")
            if (answer.status == 422) and view["phase"] != "refused":
                self.ledger.complain(f"422 for a job that is not refused: {view}")
            self.ledger.acknowledged(submission, view)
            self.ledger.see(view, began)
            if is_first:
                self.mine.append(submission)
                self.ledger.count("acknowledged")
                if was_lost:
                    self.ledger.count("answered at a second attempt")
                if answer.status == 422:
                    self.ledger.count("refused")
        elif answer.status in (429, 503):
            submission.is_lost = was_lost
            submission.times_refused += 1
            self.ledger.count(f"answers {answer.status}")
            if answer.status == 503:
                self.last_refusal(answer)
            if submission.key and self.rng.random() < 0.5:
                self.unanswered.append(submission)
        else:
            self.ledger.complain(f"submission answered with {answer.status}: {answer.body[:400]!r}")

    def last_refusal(self, answer):
        if not answer.json().get("detail") and not answer.json().get("errors"):
            self.ledger.complain(f"503 does not say why: {answer.body[:400]!r}")

    def try_again(self):
        submission = self.unanswered.pop(self.rng.randrange(len(self.unanswered)))
        self.send(submission)

    def repeat(self):
        submission = self.rng.choice(self.mine)
        if submission.key is None:
            return
        if self.rng.random() < 0.8:
            self.send(submission)
            return
        other = dict(json.loads(submission.body), retries=7)
        answer = self.link.ask("POST", "/v1/jobs", json.dumps(other), {"Idempotency-Key": submission.key})
        if answer is not None and answer.status not in (409, 429, 503):
            self.ledger.complain(f"the key of {submission.name} with another job gave {answer.status}")

    def cancel(self):
        submission = self.rng.choice(self.mine[-10:])
        answer = self.link.ask("POST", f"/v1/jobs/{submission.id}/cancel", b"")
        if answer is None or answer.status in (429, 503):
            return
        if answer.status != 200 or answer.json()["phase"] not in OVER:
            self.ledger.complain(f"cancel of job {submission.id}: {answer.status} {answer.body[:400]!r}")
            return
        self.ledger.cancelled(submission.id)
        self.ledger.see(answer.json(), time.monotonic())
        self.ledger.count("cancellations")

    def read(self):
        began = time.monotonic()
        draw = self.rng.random()
        if draw < 0.5 and self.mine:
            submission = self.rng.choice(self.mine)
            by = submission.id if self.rng.random() < 0.5 else submission.name
            answer = self.link.ask("GET", f"/v1/jobs/{by}")
            if answer is not None and answer.status == 404:
                self.ledger.complain(f"job {submission.id} ({submission.name}) is not found")
            elif answer is not None and answer.status == 200:
                self.ledger.see(answer.json(), began)
        elif draw < 0.7:
            answer = self.link.ask("GET", "/v1/jobs?limit=50")
            if answer is not None and answer.status == 200:
                for view in answer.json()["jobs"]:
                    self.ledger.see(view, began)
        else:
            answer = self.link.ask("GET", self.rng.choice(("/v1/nodes", "/healthz", "/metrics", "/v1/jobs?phase=running")))
        self.ledger.count("reads")
        if answer is not None and answer.status >= 500 and answer.status != 503:
            self.ledger.complain(f"a read was answered with {answer.status}: {answer.body[:400]!r}")


def all_jobs(link):
    """Every job, oldest first; None when an answer did not come."""
    views, after = [], 0
    while True:
        answer = link.ask("GET", f"/v1/jobs?order=oldest&limit=1000&after={after}")
        if answer is None or answer.status != 200:
            link.error = link.error if answer is None else f"{answer.status} {answer.body[:300]!r}"
            return None
        page = answer.json()
        views += page["jobs"]
        if "next" not in page:
            return views
        after = page["next"]
