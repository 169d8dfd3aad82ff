# SPDX-License-Identifier: Apache-2.0
#
# Runs in an interpreter that was started before there was anything to run. It imports what the scripts of a job import, and
# waits. For each rank it is told to start it makes a copy of itself, which becomes the rank: a process whose parent is the
# supervisor, with the environment, directory and output it would have had, and the imports done.
#
#   python3 -c SOURCE MODULE...       descriptor 4: a socket to the supervisor
#
# It is sent, for each rank, a message with descriptors: what to run (JSON), the output, the job's lock, and where to enter the
# control group (or none). The rank answers with its process id.
import array
import builtins
import ctypes
import gc
import importlib
import importlib.machinery
import json
import os
import resource
import signal
import socket
import sys
import time
import types

CONTROL = 4
LOCK = 3
TOKEN = b"WEIR_TOKEN="
PR_SET_PDEATHSIG = 1


def wait_for_work():
    """In a new rank: returns what it is to run, and how to answer. In the interpreter itself: never returns."""
    control = socket.socket(fileno=CONTROL)
    gc.freeze()  # a copy does not touch what was there before, so that memory stays shared
    while True:
        message, ancillary, _, _ = control.recvmsg(64, socket.CMSG_SPACE(4 * array.array("i").itemsize))
        if not message:
            os._exit(0)
        received = array.array("i")
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                received.frombytes(data[: len(data) - len(data) % received.itemsize])
        child = os.fork()
        if child == 0:
            middle = os.getpid()
            if fork_or_answer(control) != 0:
                os._exit(0)
            return received, control, middle
        os.waitpid(child, 0)
        for descriptor in received:
            os.close(descriptor)


def fork_or_answer(control):
    try:
        return os.fork()
    except OSError:
        give_up(control)


def give_up(control):
    """No rank can be made here: the supervisor is to start it as usual, and will find out why."""
    control.send(b"0")
    os._exit(127)


def become_rank(work, descriptors, supervisor, middle):
    # Orphans come to the supervisor, which asked for that; to another if it is gone.
    while os.getppid() == middle:
        time.sleep(0.0005)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(127)
    os.setpgid(0, 0)
    if len(descriptors) > 2:
        os.write(descriptors[2], b"0")
    if work["memory"] > 0:
        resource.setrlimit(resource.RLIMIT_AS, (work["memory"], work["memory"]))
    os.dup2(descriptors[1], LOCK)
    os.dup2(descriptors[0], 1)
    os.dup2(descriptors[0], 2)
    for descriptor in descriptors:
        os.close(descriptor)
    show(work["command"], work["token"])
    os.environ.clear()
    os.environ.update(entry.split("=", 1) for entry in work["environment"])
    os.chdir(work["directory"])
    if "numpy" in sys.modules:  # else all ranks would draw the same; `random` sees to it by itself
        sys.modules["numpy"].random.seed()
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def show(command, token):
    """Others look at the arguments and the environment a process was started with. Writes there what this one is by now."""
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    arguments, end_of_arguments, environment, end_of_environment = (int(field) for field in fields[45:49])
    write_over(arguments, end_of_arguments, "\0".join(command).encode(errors="surrogateescape"))
    there = ctypes.string_at(environment, end_of_environment - environment)
    place = there.index(TOKEN) + len(TOKEN)
    write_over(environment + place, environment + there.index(b"\0", place), token.encode())


def write_over(begin, end, text):
    ctypes.memmove(begin, text[: end - begin - 1].ljust(end - begin, b"\0"), end - begin)


def run_script(arguments):
    """As `python3 SCRIPT ARGUMENT...` would."""
    script = arguments[0]
    sys.argv[:] = arguments
    sys.path[0] = os.path.dirname(os.path.realpath(script))
    if os.environ.get("PYTHONUNBUFFERED"):
        sys.stdout.reconfigure(write_through=True)
    main = types.ModuleType("__main__")
    main.__file__ = script
    main.__builtins__ = builtins
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", script)
    sys.modules["__main__"] = main
    try:
        with open(script, "rb") as file:
            source = file.read()
    except OSError as error:
        print(f"{sys.executable}: can't open file {os.path.abspath(script)!r}: [Errno {error.errno}] {error.strerror}", file=sys.stderr)
        sys.exit(2)
    try:
        exec(compile(source, script, "exec"), main.__dict__)
    except Exception as error:
        error = error.with_traceback(error.__traceback__.tb_next)
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)


def begin():
    supervisor = os.getppid()
    for module in sys.argv[1:]:
        importlib.import_module(module)
    received, control, middle = wait_for_work()
    try:
        work = json.loads(os.fdopen(received[0], "rb").read())
        become_rank(work, received[1:], supervisor, middle)
    except Exception:
        give_up(control)
    control.send(str(os.getpid()).encode())
    control.close()
    if work["unbuffered"]:
        sys.stdout.reconfigure(write_through=True)
    run_script(work["arguments"])


begin()
