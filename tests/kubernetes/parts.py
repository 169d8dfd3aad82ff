# SPDX-License-Identifier: Apache-2.0
"""One program of the control plane: started, killed, started again."""
import ctypes
import random
import signal
import socket
import subprocess
import time

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def die_with_parent():
    """A test that is killed leaves no servers. The kernel watches the starting thread: start parts from the main one."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port():
    """Below the range from which outgoing connections take theirs: it stays free between starts."""
    while True:
        port = random.randint(20000, 32000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


class Part:
    def __init__(self, name, command, folder, environment=None):
        self.name = name
        self.command = [str(word) for word in command]
        self.log = folder / f"{name}.log"
        self.environment = environment
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True, preexec_fn=die_with_parent, env=self.environment)

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        """As a crash: it gets no chance to say goodbye."""
        if self.is_running():
            self.process.kill()
            self.process.wait()

    def stop(self, seconds=3):
        if not self.is_running():
            return
        self.process.terminate()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def memory_mib(self):
        """Resident."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) / 1024
        return 0.0

    def last_lines(self, count=6):
        try:
            lines = self.log.read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return ""
        return "\n".join(f"  {self.name}: {line[:300]}" for line in lines[-count:])


def wait_until_answers(part, ask, seconds):
    """`ask` may fail until the part is there; a part that has ended will never be."""
    end = time.monotonic() + seconds
    while True:
        if not part.is_running():
            raise RuntimeError(f"{part.name} ended with {part.process.returncode}\n{part.last_lines()}")
        try:
            if ask():
                return
        except OSError:
            pass
        if time.monotonic() > end:
            raise TimeoutError(f"{part.name} does not answer within {seconds} s\n{part.last_lines()}")
        time.sleep(0.05)
