# SPDX-License-Identifier: Apache-2.0
"""Tells weir how far the job is.

One datagram {"step": 12, "samples": 1536, "loss": 0.5} to the unix socket in WEIR_PROGRESS. Training never waits for
it and never fails because of it. Between two datagrams reports are kept back, the newest in place of the older ones; the
last one goes out when the process exits.
"""

import atexit
import json
import math
import os
import socket
import time
from typing import Any, Callable, Dict, Optional, Tuple

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
        self._socket: Optional[socket.socket] = None

    def report(self, step: int, samples: Optional[int] = None, loss: Any = None) -> None:
        """Notes how far the job is; sends it if it is time to. Never raises, never waits."""
        if self._is_silent:
            return
        # A loss may be a tensor, and reading it may wait for the GPU: only what is sent is read.
        self._kept = (step, samples, loss)
        if self._clock() >= self._next_at:
            self._send()

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
            message = _encode(*self._kept)
            if self._socket is None:
                self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                self._socket.setblocking(False)
            self._socket.sendto(message, self._address)
        except BlockingIOError:
            return False
        except Exception:  # whatever it is, training goes on
            pass
        self._kept = None
        return True


def _encode(step: Any, samples: Any, loss: Any) -> bytes:
    fields: Dict[str, float] = {"step": int(step)}
    if samples is not None:
        fields["samples"] = int(samples)
    # JSON has no word for infinity.
    if loss is not None and math.isfinite(float(loss)):
        fields["loss"] = float(loss)
    return json.dumps(fields).encode() + b"\n"


_reporter: Optional[ProgressReporter] = None


def report(step: int, samples: Optional[int] = None, loss: Any = None) -> None:
    """Tells weir that `step` steps are done, `samples` samples seen, and the loss. Outside weir it does nothing.

    Call it after every step, on every rank; rank 0 sends. Never raises, never waits.
    """
    global _reporter
    if _reporter is None:
        _reporter = _reporter_of_this_process()
        atexit.register(_reporter.flush)
    _reporter.report(step, samples, loss)


def _reporter_of_this_process() -> ProgressReporter:
    try:
        number = environment.rank()
    except ValueError:
        number = 0
    return ProgressReporter(os.environ.get("WEIR_PROGRESS", ""), number)
