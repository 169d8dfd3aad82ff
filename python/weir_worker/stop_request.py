# SPDX-License-Identifier: Apache-2.0
"""When to save, and when to leave.

weir is about to change the GPUs of a job: it sends SIGTERM, and SIGKILL after the grace. The signal only leaves a note; the
training loop finds it at the end of a step, saves and leaves. SIGUSR1 asks for a checkpoint alone. Handlers that the script had set
before are called as well.

    weir_worker.start(save_every=600)
    for step in ...:
        train(step)
        if weir_worker.should_checkpoint():
            save(step)
            if weir_worker.should_leave():
                weir_worker.leave()

All ranks must stop at the same step, and signals do not reach them at the same one. `agree` is a function that takes the
maximum of an int over all ranks; every rank calls should_checkpoint() once a step, so the answer is the same everywhere. With
PyTorch:

    def largest(number):
        box = torch.tensor([number])      # on the GPU with NCCL
        torch.distributed.all_reduce(box, op=torch.distributed.ReduceOp.MAX)
        return int(box.item())

Without it each rank decides for itself, which is right for one rank only.
"""

import os
import signal
import sys
import time
from typing import Any, Callable, Dict, NoReturn, Optional

from weir_worker.progress_report import reporter

STOPPED_TO_BE_RESUMED = 143

Agree = Callable[[int], int]

# What a rank wants, the larger the more; the largest of all ranks is done.
_GO_ON = 0
_SAVE = 1
_SAVE_AND_LEAVE = 2


class StopRequest:
    """Notes the signals, and tells the training loop once."""

    def __init__(
        self,
        save_every: Optional[float] = None,
        agree: Optional[Agree] = None,
        agree_every: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """save_every: seconds between checkpoints. agree_every: calls from one agreement to the next, equal on all ranks."""
        if agree_every < 1:
            raise ValueError(f"agree_every is {agree_every}, expected 1 or more")
        self._save_every = save_every
        self._agree = agree
        self._agree_every = agree_every
        self._clock = clock
        self._saved_at = clock()
        self._calls = 0
        # Counted, never reset: a signal that comes while another is looked at is not lost.
        self._stops = 0
        self._announcements = 0
        self._stops_seen = 0
        self._announcements_seen = 0
        self._is_leaving = False
        self._process = os.getpid()
        self._earlier: Dict[int, Any] = {}

    def install(self) -> None:
        """Sets the handlers. Requires: the main thread, as Python does for handlers."""
        for number in (signal.SIGTERM, signal.SIGUSR1):
            self._earlier[number] = signal.signal(number, self._on_signal)

    def uninstall(self) -> None:
        """Gives the signals back to the handlers that were there."""
        for number, handler in self._earlier.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._earlier.clear()

    def should_checkpoint(self) -> bool:
        """Whether to save now. Once for each request. Call it once a step, on every rank."""
        self._calls += 1
        if self._agree is None:
            wish = self._own_wish()
        elif self._calls % self._agree_every == 0:
            wish = self._agree(self._own_wish())
        else:
            return False
        if wish == _GO_ON:
            return False
        self._saved_at = self._clock()
        self._is_leaving = self._is_leaving or wish == _SAVE_AND_LEAVE
        return True

    def should_leave(self) -> bool:
        """Whether, after the save, the process is to end: weir starts it again on its new GPUs."""
        return self._is_leaving

    def _own_wish(self) -> int:
        stops, announcements = self._stops, self._announcements
        is_stop = stops != self._stops_seen
        is_announcement = announcements != self._announcements_seen
        self._stops_seen, self._announcements_seen = stops, announcements
        if is_stop:
            return _SAVE_AND_LEAVE
        return _SAVE if is_announcement or self._is_time() else _GO_ON

    def _is_time(self) -> bool:
        return self._save_every is not None and self._clock() - self._saved_at >= self._save_every

    def _on_signal(self, number: int, frame: Any) -> None:
        earlier = self._earlier.get(number)
        if os.getpid() != self._process:
            _as_if_not_installed(number, earlier)
            return
        if number == signal.SIGTERM:
            self._stops += 1
        else:
            self._announcements += 1
        if callable(earlier):
            earlier(number, frame)


def _as_if_not_installed(number: int, earlier: Any) -> None:
    """In a forked child, such as a loader of data: it has no training loop, and must end when it is told to."""
    signal.signal(number, signal.SIG_DFL if earlier is None else earlier)
    os.kill(os.getpid(), number)


_request: Optional[StopRequest] = None


def start(save_every: Optional[float] = None, agree: Optional[Agree] = None, agree_every: int = 1) -> None:
    """Begins to listen to weir. Call it early, in the main thread; a later call changes what was chosen."""
    global _request
    if _request is not None:
        _request.uninstall()
    _request = StopRequest(save_every, agree, agree_every)
    _request.install()
    reporter().tell("started")


def should_checkpoint() -> bool:
    """Whether to save now: weir is about to change the GPUs, or asks for it, or `save_every` seconds have passed."""
    if _request is None:
        start()
    assert _request is not None
    return _request.should_checkpoint()


def should_leave() -> bool:
    """Whether to leave after the save."""
    return _request is not None and _request.should_leave()


def leave() -> NoReturn:
    """Ends the process: stopped, to be resumed. Handlers of atexit run, so the last report goes out."""
    sys.exit(STOPPED_TO_BE_RESUMED)
