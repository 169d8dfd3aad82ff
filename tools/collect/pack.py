#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the tables of a folder for shipping.

    tools/collect/pack.py FOLDER docs/measurements/h200

writes docs/measurements/h200_gemm.csv.gz and so on, and h200_about.json. Rows are sorted by what they measure, so that a table
that was measured in several goes is the same as one measured in one; the kernels of one iteration stay in their order.
"""
import argparse
import contextlib
import csv
import gzip
import io
import os
import sys

import needs
import table

SORTED_BY_SHAPE = set(table.SHAPE)
IN_ORDER = ["kernel_names", "conv_algorithms", "sustained", "iterations", "decoders", "iteration_kernels", "iteration_ops", "overlap_copy",
            "overlap_clusters", "overlap_curves", "overlap_steps", "overlap_buckets", "overlap_kernels", "overlap_landing"]
MOST_BYTES = 1 << 20  # of one packed table, so that it fits in a repository


def shape_order(family):
    """Sorts by operator and shape; numbers as numbers."""
    names = ["op", "dtype"] + [name for name in table.SHAPE[family] + table.OURS[family]
                               if name not in ("n_kernels", "kernel_ids")] + ["repeat"]

    def key(row):
        return [(0, int(row[name]), "") if row[name].isdigit() else (1, 0, row[name]) for name in names]
    return key


def rows_of(path):
    with open(path, newline="") as file:
        reader = csv.DictReader(file)
        return reader.fieldnames, list(reader)


def packed_bytes(names, rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0, compresslevel=9) as packed:  # the same table, the same bytes
        packed.write(text.getvalue().encode())
    return out.getvalue()


def packed_tables(folder):
    """(name, rows, bytes) of every table that is there; where one is too large, all that are too large are told."""
    tables, too_large = [], []
    for name in [*table.SHAPE, *IN_ORDER]:
        source = os.path.join(folder, name + ".csv")
        if not os.path.exists(source):
            continue
        names, rows = rows_of(source)
        if name in SORTED_BY_SHAPE:
            rows.sort(key=shape_order(name))
        data = packed_bytes(names, rows)
        if len(data) > MOST_BYTES:
            too_large.append(f"{source}: its {len(rows)} rows are {len(data)} bytes when packed, expected at most {MOST_BYTES}")
        tables.append((name, len(rows), data))
    if too_large:
        needs.stop("pack", "; ".join(too_large))
    return tables


def write_all(files):
    """All of (path, bytes) or none: under other names first."""
    try:
        for path, data in files:
            with open(path + ".part", "wb") as file:
                file.write(data)
        for path, _ in files:
            os.replace(path + ".part", path)
    except OSError as error:
        for path, _ in files:
            with contextlib.suppress(OSError):
                os.remove(path + ".part")
        needs.stop("pack", f"{error.filename} cannot be written: {error.strerror}")


def pack(folder, prefix, say=print):
    about = os.path.join(folder, "about.json")
    if not os.path.exists(about):  # before anything is written
        needs.stop("pack", f"there is no {about}: run collect.py --out {folder} first")
    with open(about, "rb") as file:
        text = file.read()
    packed = packed_tables(folder)
    write_all([(f"{prefix}_{name}.csv.gz", data) for name, _, data in packed] + [(f"{prefix}_about.json", text)])
    for name, rows, data in packed:
        say(f"{prefix}_{name}.csv.gz: {rows} rows, {len(data)} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER", help="where collect.py wrote its tables")
    parser.add_argument("prefix", metavar="PREFIX", help="what the packed tables' names begin with, without the _: docs/measurements/h200")
    given = parser.parse_args()
    pack(given.folder, given.prefix)
    return 0


if __name__ == "__main__":
    sys.exit(main())
