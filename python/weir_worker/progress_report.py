# SPDX-License-Identifier: Apache-2.0
"""Tells weir how far the job is.

One datagram {"step": 12, "samples": 1536, "loss": 0.5} to the unix socket in WEIR_PROGRESS. Training never waits for
it and never fails because of it. Between two datagrams reports are kept back, the newest in place of the older ones; the
last one goes out when the process exits. Events, {"event": "saved", "seconds": 0.8}, go out at once: from them weir learns what
a change of GPUs costs, and how long a save may take. With a batch plan reports have "batch": [global, largest micro-batch, passes].
"""

import atexit
import contextlib
import json
import math
import os
import socket
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from weir_worker import environment

MOST_PER_SECOND = 10.0
# How long an exiting process tries again while the receiver is busy.
_LAST_TRY_SECONDS = 0.5
_TRY_AGAIN_SECONDS = 0.01


class ProgressReporter:
    """Sends reports to one address, at most so many a second. Without an address, or on another rank than 0, to nobody."""

    def __init__(
        self,
        address: str,
        rank: int = 0,
        most_per_second: float = MOST_PER_SECOND,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # "@" stands for the zero byte that makes a name abstract.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._is_silent = not address or rank != 0
        self._pause = 1.0 / most_per_second
        self._clock = clock
        self._next_at = -math.inf
        self._kept: Optional[Tuple[Any, Any, Any]] = None
        self._batch: Optional[List[int]] = None
        self._socket: Optional[socket.socket] = None

    def report(self, step: int, samples: Optional[int] = None, loss: Any = None) -> None:
        """Notes how far the job is; sends it if it is time to. Never raises, never waits."""
        if self._is_silent:
            return
        # A loss may be a tensor, and reading it may wait for the GPU: only what is sent is read.
        self._kept = (step, samples, loss)
        if self._clock() >= self._next_at:
            self._send()

    def note_batch(self, division: List[int]) -> None:
        """How the global batch is divided from now on."""
        self._batch = division

    def tell(self, event: str, seconds: Optional[float] = None) -> None:
        """Tells at once that something has happened. Never raises, never waits."""
        if self._is_silent:
            return
        fields: Dict[str, Any] = {"event": event}
        if seconds is not None:
            fields["seconds"] = round(seconds, 6)
        with contextlib.suppress(Exception):
            self._send_message(fields)

    def flush(self) -> None:
        """Sends what was kept back. For the end of the process: waits a moment if the receiver is busy."""
        give_up_at = time.monotonic() + _LAST_TRY_SECONDS
        while self._kept is not None and not self._send() and time.monotonic() < give_up_at:
            time.sleep(_TRY_AGAIN_SECONDS)

    def _send(self) -> bool:
        """Whether nothing is left to send. A receiver that is busy gets it later; one that is gone, never."""
        if self._kept is None:
            return True
        self._next_at = self._clock() + self._pause
        try:
            fields = _fields(*self._kept)
            if self._batch is not None:
                fields["batch"] = self._batch
            self._send_message(fields)
        except BlockingIOError:
            return False
        except Exception:  # whatever it is, training goes on
            pass
        self._kept = None
        return True

    def _send_message(self, fields: Dict[str, Any]) -> None:
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._socket.setblocking(False)
        self._socket.sendto(json.dumps(fields).encode() + b"\n", self._address)


def _fields(step: Any, samples: Any, loss: Any) -> Dict[str, Any]:
    fields: Dict[str, Any] = {"step": int(step)}
    if samples is not None:
        fields["samples"] = int(samples)
    # JSON has no word for infinity.
    if loss is not None and math.isfinite(float(loss)):
        fields["loss"] = float(loss)
    return fields


_reporter: Optional[ProgressReporter] = None
_reporter_process = 0


def report(step: int, samples: Optional[int] = None, loss: Any = None) -> None:
    """Tells weir that `step` steps are done, `samples` samples seen, and the loss. Outside weir it does nothing.

    Call it after every step, on every rank; rank 0 sends. Never raises, never waits.
    """
    reporter().report(step, samples, loss)


def reporter() -> ProgressReporter:
    """That of this process. A forked child has its own."""
    global _reporter, _reporter_process
    if _reporter is None or _reporter_process != os.getpid():
        _reporter = _reporter_of_this_process()
        _reporter_process = os.getpid()
        atexit.register(_reporter.flush)
    return _reporter


def _reporter_of_this_process() -> ProgressReporter:
    try:
        number = environment.rank()
    except ValueError:
        number = 0
    return ProgressReporter(os.environ.get("WEIR_PROGRESS", ""), number)
