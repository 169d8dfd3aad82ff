#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command of docs/kubernetes.md on a real cluster, in order, from the repository's root.

    tests/kubernetes/docs_test.py [--bin FOLDER]
"""
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

from control_plane import HERE, PROGRAMS, ControlPlane
from manifests import a_node, a_pod
from weir_program import Failure, check, parser

ROOT = HERE.parent.parent
PAGE = ROOT / "docs" / "kubernetes.md"


def commands():
    return "\n".join(re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL))


def run_page(plane, folder):
    work = plane.folder / "page"
    work.mkdir()
    for name in ("deploy", "tests"):
        (work / name).symlink_to(ROOT / name)
    environment = dict(os.environ, KUBECONFIG=str(plane.kubeconfig("admin")), WEIR_STATE=str(work / "state"),
                       XDG_CONFIG_HOME=str(work), PATH=f"{folder.resolve()}:{PROGRAMS}:{os.environ['PATH']}")
    script = 'trap "kill \\$(jobs -p) 2>/dev/null || true" EXIT\n' + commands()
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=work, env=environment, capture_output=True,
                          text=True, timeout=240, check=False)
    shutil.rmtree(work / "state", ignore_errors=True)
    check(done.returncode == 0, f"a command of docs/kubernetes.md fails:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def main():
    options = parser(__doc__).parse_args()
    try:
        with ControlPlane() as plane:
            plane.admin.create_all([a_node(f"n{number}", gpus=8, labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}) for number in range(1, 5)])
            for number in range(3):
                plane.admin.create(a_pod(f"busy-{number}", gpus=4))
            output = run_page(plane, options.bin)
            for text in ("gpu_product", "wants-an-h200", "to start it:", "$ kubectl", "fgd", "best-fit", "deployment"):
                check(text in output, f"the page's commands do not print {text!r}:\n{output[-3000:]}")
            print(f"{len(commands().splitlines())} lines of commands of docs/kubernetes.md work")
    except Failure as failure:
        print(f"FAILED: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
