# SPDX-License-Identifier: Apache-2.0
"""The picture of a mix: who had how many slots when, and what they had learnt by then."""
import math

WIDTH, LEFT, RIGHT = 860, 96, 24
ROW, LOSS_HEIGHT = 34, 220
COLOURS = ("#3b6fb6", "#c8553d", "#4a8f5c", "#8a5fa8", "#b08b2e", "#4f8f9e")


def _steps(seen):
    """Stretches (from, to, slots) of equal size."""
    stretches = []
    for (at, size, _, _), (later, _, _, _) in zip(seen, seen[1:]):
        if stretches and stretches[-1][2] == size:
            stretches[-1][1] = later
        else:
            stretches.append([at, later, size])
    return stretches


class _Plot:
    def __init__(self, end):
        self.end = end
        self.parts = []

    def x(self, seconds):
        return LEFT + (WIDTH - LEFT - RIGHT) * seconds / self.end

    def text(self, x, y, text, anchor="start", size=12, colour="#333"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">{text}</text>')

    def line(self, x1, y1, x2, y2, colour="#ccc", width=1, dash=""):
        style = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"{style}/>')

    def time_axis(self, y, top):
        every = 10 if self.end <= 120 else 20
        for seconds in range(0, int(self.end) + 1, every):
            self.line(self.x(seconds), top, self.x(seconds), y, "#e8e8e8")
            self.text(self.x(seconds), y + 16, f"{seconds} s", "middle", 11, "#666")


def _draw_sizes(plot, jobs, arrivals, top):
    for row, (job, at) in enumerate(zip(jobs, arrivals)):
        y = top + row * ROW
        colour = COLOURS[row % len(COLOURS)]
        plot.text(LEFT - 8, y + ROW / 2 + 4, job["name"], "end")
        plot.line(plot.x(at), y + 4, plot.x(at), y + ROW - 4, colour, 2)
        for begin, end, size in _steps(job["seen"]):
            if size == 0:
                continue
            height = (ROW - 10) * size / 2
            plot.parts.append(f'<rect x="{plot.x(begin):.1f}" y="{y + ROW - 5 - height:.1f}" width="{plot.x(end) - plot.x(begin):.1f}" '
                              f'height="{height:.1f}" fill="{colour}"><title>{job["name"]}: {size} slots</title></rect>')
        if job["deadline_s"] is not None and at + job["deadline_s"] <= plot.end:
            plot.line(plot.x(at + job["deadline_s"]), y + 2, plot.x(at + job["deadline_s"]), y + ROW - 2, "#000", 2, "3 2")


def _draw_losses(plot, jobs, top):
    points = [[(at, loss) for at, _, _, loss in job["seen"] if loss] for job in jobs]
    values = [math.log10(loss) for line in points for _, loss in line]
    if not values:
        return
    low, high = math.floor(min(values)), math.ceil(max(values))
    y = lambda loss: top + LOSS_HEIGHT * (high - math.log10(loss)) / max(1, high - low)
    for power in range(low, high + 1):
        plot.line(LEFT, y(10.0**power), WIDTH - RIGHT, y(10.0**power), "#e8e8e8")
        plot.text(LEFT - 8, y(10.0**power) + 4, f"1e{power}", "end", 11, "#666")
    for row, line in enumerate(points):
        path = " ".join(f"{plot.x(at):.1f},{y(loss):.1f}" for at, loss in line)
        plot.parts.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[row % len(COLOURS)]}" stroke-width="1.5"/>')
    plot.text(16, top - 12, "loss, as the jobs report it")


def write_plot(path, jobs, arrivals):
    end = max(job["seen"][-1][0] for job in jobs) + 2
    deadlines = [at + job["deadline_s"] for job, at in zip(jobs, arrivals) if job["deadline_s"] is not None]
    plot = _Plot(max([end, *deadlines]) + 1)
    top = 40
    bottom = top + ROW * len(jobs)
    plot.text(16, 22, "slots of each job over time (full height: 2); a mark where it came, a dashed one at its deadline")
    plot.time_axis(bottom, top)
    _draw_sizes(plot, jobs, arrivals, top)
    loss_top = bottom + 56
    plot.time_axis(loss_top + LOSS_HEIGHT, loss_top)
    _draw_losses(plot, jobs, loss_top)
    height = loss_top + LOSS_HEIGHT + 32
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
                    f'font-family="sans-serif"><rect width="100%" height="100%" fill="#fff"/>' + "\n".join(plot.parts) + "</svg>\n")
