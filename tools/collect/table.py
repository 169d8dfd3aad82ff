# SPDX-License-Identifier: Apache-2.0
"""The tables that are written: their columns, a row or all rows of a case at a time, and which cases are in them already."""
import csv
import json
import os

# Of the public kernel tables, in their order ...
PUBLIC = ["split", "op", "device", "latency_ms", "kernel_id", "warps_per_sm", "blocks_per_sm", "gx", "gy", "gz", "bx", "by", "bz"]
SHAPE = {
    "gemm": ["n_kernels", "B", "M", "N", "K"],
    "conv": ["kernel_ids", "B", "Cin", "Cout", "ksize", "insize", "stride", "pad"],
    "vec": ["B", "H"],
    "attention": ["B", "heads", "kv_heads", "Sq", "Sk", "D", "causal"],
    "image": ["B", "C", "insize", "ksize", "stride", "pad"],
}
# ... and ours behind them.
OURS = {
    "gemm": ["layout"],
    "conv": ["pass", "layout", "n_kernels"],
    "vec": ["n_kernels", "kernel_ids"],
    "attention": ["pass", "backend", "n_kernels", "kernel_ids"],
    "image": ["pass", "layout", "n_kernels", "kernel_ids"],
}
MEASURED = ["dtype", "regs", "smem", "occ", "cluster", "launches", "spread", "warm_ms", "cpu_us", "per_replay", "replays",
            "clock_mhz", "watts", "repeat"]


def columns(family):
    return PUBLIC + SHAPE[family] + OURS[family] + MEASURED


def cell(value):
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class AppendedTable:
    """A CSV file that rows are added to, each at once; what a run before this one wrote stays."""

    def __init__(self, path, names):
        self.path = path
        self._names = names
        self.rows_before = []
        if os.path.exists(path):
            self.rows_before = self._keep_whole_rows(path)
        self._file = open(path, "a", newline="")
        self._csv = csv.writer(self._file, lineterminator="\n")
        if not self.rows_before and self._file.tell() == 0:
            self._csv.writerow(names)
            self._file.flush()

    def _keep_whole_rows(self, path):
        """The rows of the file; a last line that was cut off is removed from it."""
        with open(path, newline="") as file:
            text = file.read()
        whole = text[:text.rfind("\n") + 1]
        if whole != text:
            with open(path, "w", newline="") as file:
                file.write(whole)
        if not whole:
            return []
        rows = list(csv.DictReader(whole.splitlines()))
        header = whole.split("\n", 1)[0].split(",")
        if header != self._names:
            raise ValueError(f"{path}:1: columns are \"{','.join(header)}\", expected \"{','.join(self._names)}\"; "
                             "write to another folder")
        return rows

    def add(self, row):
        self.add_all([row])

    def add_all(self, rows):
        self._csv.writerows([[cell(row.get(name)) for name in self._names] for row in rows])
        self._file.flush()

    def close(self):
        self._file.close()


class KernelNames:
    """Kernel names by number, as in the public tables: a name keeps the number it got first."""

    def __init__(self, path):
        self._table = AppendedTable(path, ["kernel_id", "name"])
        self._ids = {row["name"]: int(row["kernel_id"]) for row in self._table.rows_before}

    def id_of(self, name):
        if name not in self._ids:
            self._ids[name] = len(self._ids)
            self._table.add({"kernel_id": self._ids[name], "name": name})
        return self._ids[name]


class Tables:
    """All tables of one folder: a table per family, the kernel names, what was skipped, and what is being tried."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self._folder = folder
        self._open = {}
        self._take_back_what_broke_off()  # before a table is read
        self.names = KernelNames(self.path("kernel_names"))
        self._done = AppendedTable(self.path("done"), ["key", "repeat", "error"])
        self.done = {(row["key"], int(row["repeat"])) for row in self._done.rows_before}
        self._skip_what_broke_off()

    def path(self, name):
        return os.path.join(self._folder, name + ".csv")

    def _attempt(self):
        return os.path.join(self._folder, "attempt.txt")

    def _unfinished(self):
        return os.path.join(self._folder, "unfinished.json")

    def add_together(self, *groups, done=None):
        """groups: (table, rows). Where this is cut off, the next run finds none of them. done: (key, repeat, remark) of their case."""
        if done:
            groups += ((self._done, [dict(zip(("key", "repeat", "error"), done))]),)
        before = {os.path.basename(out.path): os.path.getsize(out.path) for out, _ in groups}
        with open(self._unfinished() + ".new", "w") as file:
            json.dump(before, file)
        os.replace(self._unfinished() + ".new", self._unfinished())
        for out, rows in groups:
            out.add_all(rows)
        os.remove(self._unfinished())
        if done:
            self._is_done(*done[:2])

    def _take_back_what_broke_off(self):
        """Rows that were to be there together and are not all there. Their case did not take the process down: it is tried again."""
        if not os.path.exists(self._unfinished()):
            return
        with open(self._unfinished()) as file:
            before = json.load(file)
        for name, size in before.items():
            path = os.path.join(self._folder, name)
            if os.path.exists(path) and os.path.getsize(path) > size:
                os.truncate(path, size)
        self._forget_attempt()
        os.remove(self._unfinished())

    def _skip_what_broke_off(self):
        """A case that took the whole process down is not tried again."""
        if os.path.exists(self._attempt()):
            with open(self._attempt()) as file:
                key, _, repeat = file.read().rpartition(" ")
            if not key or (key, int(repeat)) in self.done:
                self._forget_attempt()
            else:
                self.skip(key, int(repeat), "the run broke off here")

    def begin(self, key, repeat):
        with open(self._attempt(), "w") as file:
            file.write(f"{key} {repeat}")

    def _finish(self, key, repeat, error):
        self._done.add({"key": key, "repeat": repeat, "error": error})
        self._is_done(key, repeat)

    def _is_done(self, key, repeat):
        self.done.add((key, repeat))
        self._forget_attempt()

    def _forget_attempt(self):
        if os.path.exists(self._attempt()):
            os.remove(self._attempt())

    def skip(self, key, repeat, error):
        self._finish(key, repeat, " ".join(str(error).split())[:160] or "no reason given")

    def add(self, table, names, row, key, repeat):
        if table not in self._open:
            self._open[table] = AppendedTable(self.path(table), names)
        self._open[table].add(row)
        self._finish(key, repeat, "")
