#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast the CPU trains at this moment: one small training step, always the same, which no GPU slows down.

A shared CPU is not always equally fast, and one trivial operator in a loop does not notice: it stays in the caches, and the backward pass runs
on another thread. This step has what every step has: modules, autocast, the engine's backward pass, a fused optimizer.

    tools/collect/cpu_probe.py      prints what `weir predict --step-probe` takes; needs a GPU: a CPU would take the arithmetic's time, too
"""
import argparse
import statistics
import sys
import time

import needs

BLOCKS, WIDTH, SAMPLES = 12, 64, 8
WARM, TIMED = 1, 2


class CpuProbe:
    def __init__(self, torch, device):
        nn = torch.nn

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm, self.linear, self.bend = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.GELU()

            def forward(self, x):
                return x + self.linear(self.bend(self.norm(x)))

        self._torch, self._device = torch, device
        self._module = nn.Sequential(*[Block() for _ in range(BLOCKS)]).to(device)
        self._optimizer = torch.optim.AdamW(self._module.parameters(), lr=1e-5, fused=True)
        self._x = torch.randn(SAMPLES, WIDTH, device=device)

    def _step(self):
        with self._torch.autocast(self._device, self._torch.bfloat16):
            loss = self._module(self._x).sum()
        loss.backward()
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)

    def _finish(self):
        if self._device == "cuda":
            self._torch.cuda.synchronize()

    def microseconds(self):
        """The CPU's time for one step, right now. The GPU is idle before and after."""
        for _ in range(WARM):
            self._step()
        self._finish()
        start = time.perf_counter()
        for _ in range(TIMED):
            self._step()
        taken = time.perf_counter() - start
        self._finish()
        return taken / TIMED * 1e6


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    probe = CpuProbe(needs.pytorch("cpu_probe", gpu=True), "cuda")
    print(f"--step-probe {statistics.median(probe.microseconds() for _ in range(100)) / 1e3:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
