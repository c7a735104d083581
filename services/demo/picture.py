"""The picture of the demo: routers, users and the spread of news.

It shows whose news reached whom.
"""

from collections.abc import Sequence
from math import dist
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from propagation.v1 import propagation_pb2 as pb
from services.demo.data import Reach
from services.demo.story import Story, find_traced_message
from services.report.force_layout import compute_force_layout, spread_labels
from services.report.html import shorten
from services.runtime.console import make_printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Point = tuple[float, float]
COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#D55E00",
    "#56B4E9",
    "#8C6D31",
    "#6B4C9A",
    "#7F7F7F",
)
INK, QUIET = "#222222", "#BBBBBB"
ARROW = {"arrowstyle": "-|>", "color": INK, "shrinkA": 4, "shrinkB": 4}
LABELLED, APART = 14, 0.16
WIDTH, HEIGHT, DOTS = 15.0, 8.6, 130
LABEL_CHARS = 30
RISE, LETTER_WIDTH, LABEL_HEIGHT = (0.0, 0.09), 0.0155, 0.062
EDGES_A_USER = 3


def draw(reach: Reach, title: str, story: Story | None, file: Path, seed: int) -> None:
    """Draw the picture as PNG, with the story's path in bold."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    rcParams["text.parse_math"] = False  # names are no formulas
    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    network, matrix = figure.subplots(1, 2, width_ratios=(1.75, 1))
    figure.suptitle(make_printable(title), fontsize=14, fontweight="bold")
    _draw_network(network, reach, story, seed)
    _build_matrix(matrix, reach)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=DOTS)


def _draw_network(axes: "Axes", reach: Reach, story: Story | None, seed: int) -> None:
    from matplotlib.collections import LineCollection

    users = list(reach.tables)
    routers = sorted({router for row in reach.tables.values() for router in row})
    places = [
        (x, y)
        for x, y in compute_force_layout(_compute_pulls(reach, users, routers), seed).tolist()
    ]
    at_user = dict(zip(users, places[: len(users)], strict=True))
    at_router = dict(zip(routers, places[len(users) :], strict=True))
    colours = dict(zip(reach.order, COLOURS, strict=False))
    edges = [
        (at_user[user], at_router[router])
        for user, row in reach.tables.items()
        for router in sorted(row, key=lambda number: (-row[number], number))[:EDGES_A_USER]
    ]
    axes.add_collection(LineCollection(edges, colors=QUIET, linewidths=0.35, alpha=0.5, zorder=1))
    for name in reach.order:
        members = [at_user[user] for user in users if reach.groups.get(user) == name]
        if members:
            across, up = zip(*members, strict=True)
            axes.scatter(
                across,
                up,
                s=26,
                color=colours[name],
                label=f"{make_printable(name)} ({len(members)})",
                zorder=3,
                edgecolors="white",
                linewidths=0.4,
            )
    _draw_router_marks(axes, reach, at_router)
    heard = find_traced_message(story) if story else None
    if story and heard and story.user in at_user and heard.router in at_router:
        _draw_path(axes, story.user, heard, at_user, at_router[heard.router])
    axes.set_title("Users (dots) by the routers (squares) of their routing tables", fontsize=11)
    axes.set_axis_off()
    axes.margins(0.06)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, fontsize=9, frameon=False)


def _draw_path(
    axes: "Axes",
    user: str,
    heard: pb.MessageSource,
    at_user: dict[str, Point],
    router: Point,
) -> None:
    """Draw the arrows of the path, and name the user.

    Arrows from the senders are thin; the arrow to the user is thick.
    """
    for sender in heard.senders.clients.keys:
        if sender.kind == pb.CLIENT_KIND_USER and sender.id in at_user:
            axes.annotate(
                "", router, at_user[sender.id], zorder=5, arrowprops={**ARROW, "linewidth": 0.9}
            )
    axes.annotate("", at_user[user], router, zorder=6, arrowprops={**ARROW, "linewidth": 2.4})
    axes.annotate(
        make_printable(user),
        at_user[user],
        (0, -13),
        textcoords="offset points",
        ha="center",
        fontsize=9,
        fontweight="bold",
        color=INK,
        zorder=8,
        bbox={
            "boxstyle": "round,pad=0.15",
            "facecolor": "white",
            "edgecolor": "none",
            "alpha": 0.8,
        },
    )


def _compute_pulls(reach: Reach, users: list[str], routers: list[int]) -> NDArray[np.float64]:
    """Return each user's scores as shares of the user's largest.

    Returns:
        [users + routers, users + routers], symmetric, users first.
    """
    place = {router: len(users) + row for row, router in enumerate(routers)}
    weights = np.zeros((len(users) + len(routers),) * 2)
    for row, user in enumerate(users):
        table = reach.tables[user]
        largest = max(max(table.values()), 1e-9)
        for router, score in table.items():
            weights[row, place[router]] = weights[place[router], row] = max(score, 0.0) / largest
    return weights


def _draw_router_marks(axes: "Axes", reach: Reach, at_router: dict[int, Point]) -> None:
    """Draw squares for all routers, and names for those that carried most."""
    carried = reach.count_carried_lines()
    largest = max(carried.values(), default=1)
    for router, place in at_router.items():
        axes.scatter(
            *place,
            marker="s",
            s=14 + 90 * carried[router] / largest,
            color="white",
            edgecolors=INK,
            linewidths=1.1,
            zorder=4,
        )
    named = _choose_names(
        [router for router, _ in carried.most_common() if router in at_router], at_router
    )
    if not named:
        return
    texts = [shorten(make_printable(reach.names[router]), LABEL_CHARS) for router in named]
    sizes = np.array([(LETTER_WIDTH * len(text) + 0.04, LABEL_HEIGHT) for text in texts])
    places = spread_labels(np.array([at_router[router] for router in named]) + RISE, sizes)
    for router, text, (x, y) in zip(named, texts, places.tolist(), strict=True):
        axes.annotate(
            text,
            at_router[router],
            (x, y),
            fontsize=8,
            color=INK,
            ha="center",
            va="center",
            zorder=7,
            bbox={
                "boxstyle": "round,pad=0.2",
                "facecolor": "white",
                "edgecolor": QUIET,
                "alpha": 0.92,
            },
            arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.6},
        )


def _choose_names(routers: Sequence[int], at_router: dict[int, Point]) -> list[int]:
    """Return the routers to name in the picture.

    If routers lie close together, only the first of them is named.
    """
    named: list[int] = []
    for router in routers:
        if len(named) < LABELLED and all(
            dist(at_router[router], at_router[other]) > APART for other in named
        ):
            named.append(router)
    return named


def _build_matrix(axes: "Axes", reach: Reach) -> None:
    places = {group: place for place, group in enumerate(reach.order)}
    counts = np.zeros((len(places), len(places)))
    for (source, _, target), lines in reach.flows.items():
        counts[places[source], places[target]] += lines
    axes.imshow(
        counts, cmap="Blues", vmin=0, vmax=max(counts.max(initial=0.0), 1.0), aspect="equal"
    )
    for (row, column), count in np.ndenumerate(counts):
        axes.text(
            column,
            row,
            f"{count:.0f}" if count else "·",
            ha="center",
            va="center",
            fontsize=9,
            color="white" if count > 0.55 * max(counts.max(), 1.0) else INK,
        )
    names = [shorten(make_printable(name), LABEL_CHARS) for name in reach.order]
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right", fontsize=9)
    axes.set_yticks(range(len(names)), names, fontsize=9)
    axes.set_xlabel("… reached profiles of", fontsize=10)
    axes.set_ylabel("what people of … adopted", fontsize=10)
    axes.set_title("Who reached whom: lines that messages wrote", fontsize=11)
    axes.spines[:].set_visible(False)
