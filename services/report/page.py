"""The page, from top to bottom."""

from collections.abc import Sequence
from importlib.resources import files
from xml.etree.ElementTree import Element

from propagation.v1 import propagation_pb2 as pb
from services.report import charts, lineage
from services.report.collect import Material, clients_reached
from services.report.html import Child, element, table, written
from services.report.router_map import name_of, router_map

ROUTERS_LISTED, PARTS_LISTED = 12, 12
CLEAR = 2.0
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(material: Material) -> str:
    """The whole document; it loads nothing and runs nothing."""
    style = element("style")
    style.text = files("services.report").joinpath("style.css").read_text(encoding="utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", "Preference propagation: report"),
        style,
    )
    return written(
        element(
            "html",
            head,
            element(
                "body",
                element(
                    "main",
                    _top(material),
                    _quality(material.status),
                    _routers(material),
                    _reach(material),
                    _parts(material.status),
                    _evolution(material),
                ),
            ),
            lang="en",
        )
    )


def _top(material: Material) -> list[Child]:
    status = material.status
    said = (
        f"{material.time:%Y-%m-%d %H:%M} UTC · release {status.version} · policy {status.policy} · epoch {status.epoch} · "
        f"reasoner {status.reasoner} · embedder {status.embedder}"
    )
    tiles = [
        _tile(f"{status.users:,}", "users"),
        _tile(f"{status.items:,}", "items"),
        _tile(f"{status.recorded_through:,}", "entries of the log"),
        _tile(f"{status.learn_lag:,}", "not learned yet"),
        _tile(f"{status.reason_lag:,}", "not reasoned yet"),
        _tile(f"{status.last_round.number:,}", "rounds"),
        _tile(f"{status.dead_letters:,}", "dead letters", bad=status.dead_letters > 0),
    ]
    failing = element(
        "ul", (element("li", f"{job}: {reason}") for job, reason in sorted(status.failing.items()))
    )
    return [
        element("h1", "Preference propagation"),
        element("p", said, class_="quiet small"),
        _worth(status),
        element("div", tiles, class_="tiles"),
        *([element("h2", "Failing, and tried again"), failing] if status.failing else []),
    ]


def _worth(status: pb.GetStatusResponse) -> Element:
    """The one sentence that the page is opened for."""
    off = "" if status.propagate else " Propagation is switched off: answers are ranked without it."
    if not status.HasField("gauge"):
        return element(
            "p",
            f"Nothing was ranked yet: what propagation is worth is not known.{off}",
            class_="verdict",
        )
    gauge = status.gauge
    difference = gauge.with_propagation - gauge.without
    error = gauge.standard_error if gauge.HasField("standard_error") else float("inf")
    clear = abs(difference) > CLEAR * error
    told = "makes no difference that can be told from chance"
    if clear:
        told = "helps" if difference > 0 else "hurts"
    spread = f" ± {error:.4f}" if gauge.HasField("standard_error") else ""
    words = (
        f"On the recent stream propagation {told}: N@10 of what users chose is {gauge.with_propagation:.4f} with it and "
        f"{gauge.without:.4f} without ({difference:+.4f}{spread}).{off}"
    )
    return element(
        "p",
        words,
        class_=f"verdict {'' if not clear else 'good' if difference > 0 else 'bad'}".strip(),
    )


def _tile(figure: str, words: str, *, bad: bool = False) -> Element:
    return element(
        "div", element("b", figure), element("span", words), class_="tile bad" if bad else "tile"
    )


def _quality(status: pb.GetStatusResponse) -> list[Child]:
    said = (
        "Each interaction's item, ranked among itself and its recorded negatives (at most five in all) before anything was "
        "learned from it: 1 where it stands first, .39 where last of five. The item-kNN counts on both sides."
    )
    if not status.gauge.course:
        return [
            element("h2", "Quality over time"),
            element("p", "Nothing was ranked yet.", class_="quiet"),
        ]
    return [
        element("h2", "Quality over time"),
        element("p", said, class_="quiet"),
        charts.quality(status.gauge),
    ]


def _routers(material: Material) -> list[Child]:
    said = (
        "Near: routers that share attributes and members. Size: members. Colour: clients that its messages reached. Point at "
        "a router to read more."
    )
    if material.left_out:
        said += f" {material.left_out:,} routers that carried less are left out."
    if not material.routers:
        return []
    return [element("h2", "Routers"), element("p", said, class_="quiet"), router_map(material)]


def _reach(material: Material) -> list[Child]:
    reach = material.reach
    listed = [router for router in material.routers if router.number in reach][:ROUTERS_LISTED]
    most = max((clients_reached(reach, router.number) for router in listed), default=1)
    rows = [
        (
            name_of(router),
            _bar(clients_reached(reach, router.number) / max(most, 1)),
            f"{clients_reached(reach, router.number):,}",
            f"{router.version:,}",
            f"{reach[router.number].merged:,}",
            f"{reach[router.number].filtered:,}",
            f"{reach[router.number].fell_out:,}",
        )
        for router in listed
    ]
    shown: list[Child] = [
        table(
            ("router", "", "clients reached", "sent", "merged", "filtered", "fell out"),
            rows,
            (2, 3, 4, 5, 6),
        )
    ]
    if not rows:
        shown = [element("p", "No message was merged yet.", class_="quiet")]
    rounds = material.status.rounds
    return [
        element("h2", "Reach of messages, in the newest 200,000 merges"),
        element(
            "div",
            element("div", shown),
            element(
                "div",
                element("p", "Clients newly reached, round by round.", class_="quiet"),
                charts.rounds(rounds),
            )
            if rounds
            else None,
            class_="wide",
        ),
    ]


def _parts(status: pb.GetStatusResponse) -> list[Child]:
    said = "Calls by their name in the API, steps behind them in small letters; since the service started, waiting included."
    called = [part for part in status.parts if part.calls]
    slowest = sorted(called, key=lambda part: -part.longest_seconds)[:PARTS_LISTED]
    return [
        element("h2", "Busiest and slowest parts"),
        element("p", said, class_="quiet"),
        element("div", _busiest(called[:PARTS_LISTED]), _slowest(slowest), class_="columns"),
    ]


def _busiest(parts: Sequence[pb.TimedPart]) -> Element:
    most = max((part.seconds for part in parts), default=0.0) or 1.0
    return table(
        ("busiest", "", "in all", "times", "mean"),
        [
            (
                part.name,
                _bar(part.seconds / most),
                _seconds(part.seconds),
                f"{part.calls:,}",
                _seconds(part.seconds / part.calls),
            )
            for part in parts
        ],
        (2, 3, 4),
    )


def _slowest(parts: Sequence[pb.TimedPart]) -> Element:
    most = max((part.longest_seconds for part in parts), default=0.0) or 1.0
    return table(
        ("slowest", "", "longest", "mean"),
        [
            (
                part.name,
                _bar(part.longest_seconds / most, warm=True),
                _seconds(part.longest_seconds),
                _seconds(part.seconds / part.calls),
            )
            for part in parts
        ],
        (2, 3),
    )


def _evolution(material: Material) -> list[Child]:
    title = element("h2", "Evolution")
    if not material.runs:
        said = (
            "No evolution has run yet."
            if material.runs is not None
            else "This service's release does not evolve routers."
        )
        return [title, element("p", said, class_="quiet")]
    drawn = lineage.lineage(material.runs)
    return [
        title,
        element(
            "p",
            "Each run is judged on what happened last before it is published; a refused one changes nothing.",
            class_="quiet",
        ),
        element("div", drawn, class_="scroll") if drawn is not None else None,
        lineage.verdicts(material.runs),
    ]


def _bar(share: float, *, warm: bool = False) -> Element:
    return element("span", class_="bar warm" if warm else "bar", style=f"width:{100 * share:.0f}px")


def _seconds(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f} s"
    return f"{value:.1f} s" if value >= 1 else f"{1000 * value:.1f} ms"
