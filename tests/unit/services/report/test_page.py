"""The page: all foreign text is escaped, nothing is loaded or run, and the measures are right."""

from collections.abc import Iterator
from datetime import UTC, datetime
from html.parser import HTMLParser

from hypothesis import given, settings
from hypothesis import strategies as st

from propagation.v1 import propagation_pb2 as pb
from services.report.collect import ReportData
from services.report.html import make_element, to_html
from services.report.language_model import list_model_warnings
from services.report.page import render_page
from services.runtime.console import make_printable_lines

HOSTILE = (
    "</title></style></svg><script>alert(1)</script><img src=x onerror=alert(1)>\"' "
    "onload=alert(1) &lt;b&gt;"
)
SPLIT = pb.EvolutionChange(kind=pb.EVOLUTION_KIND_SPLIT, before=[0], after=[2, 3], reason=HOSTILE)
MERGE = pb.EvolutionChange(kind=pb.EVOLUTION_KIND_MERGE, before=[1, 2], after=[1])
RUNS = [
    pb.EvolutionRun(run=2, published=False, verdict="refused: worse", changes=[MERGE]),
    pb.EvolutionRun(
        run=1,
        published=True,
        verdict="published",
        changes=[SPLIT],
        log_loss_before=0.5,
        log_loss_after=0.49,
    ),
]


TAGS = frozenset(
    {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "h1",
        "h2",
        "p",
        "div",
        "b",
        "span",
        "ul",
        "li",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "svg",
        "g",
        "line",
        "circle",
        "rect",
        "polyline",
        "path",
        "text",
    }
)


class ParsedPage(HTMLParser):
    """The tags, attributes and texts of a document as a browser parses them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def report_data(words: str = "jazz", **status: object) -> ReportData:
    """Make three routers, of which two sent, with `words` in all texts."""
    routers = [
        pb.Router(
            number=n,
            bank=pb.BANK_TASTE,
            name=words,
            text=words,
            version=n,
            attributes=[words],
            members=3 - n,
        )
        for n in range(3)
    ]
    item = pb.RouterMember(
        client=pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id=words), title=words, score=0.5
    )
    return ReportData(
        status=pb.GetStatusResponse(
            version=words,
            policy="adoption",
            embedder=words,
            propagate=True,
            failing={words: words},
            parts=[pb.TimedPart(name="Recommend", calls=2, seconds=0.1, longest_seconds=0.08)],
            rounds=[pb.RoundReport(number=1, reached_clients=7)],
            **status,
        ),
        routers=routers,
        members={n: [pb.RouterMember(count=4), item] for n in range(3)},
        reach={n: pb.RouterReach(router=n, clients=5 * n, merged=9) for n in (1, 2)},
        runs=RUNS,
        omitted=0,
        time=datetime(2026, 1, 2, tzinfo=UTC),
    )


def gauge(on: float, off: float, error: float) -> pb.Gauge:
    points = [
        pb.GaugePoint(
            through=128 * (n + 1), interactions=128, with_propagation=on + 0.01 * n, without=off
        )
        for n in range(3)
    ]
    return pb.Gauge(
        interactions=384, with_propagation=on, without=off, standard_error=error, course=points
    )


def assert_safe(read: ParsedPage) -> None:
    assert set(read.tags) <= TAGS
    names = {name for name, _ in read.attributes}
    assert not {name for name in names if name.startswith("on")}
    assert not names & {"src", "href", "srcset", "xlink:href", "action"}


def test_markup_in_texts_is_escaped():
    read = ParsedPage(render_page(report_data(HOSTILE, gauge=gauge(0.8, 0.7, 0.01))))
    assert_safe(read)
    assert sum(HOSTILE in text for text in read.texts) >= 4, (
        "tooltips, tables and failures show them as they are"
    )


@given(st.text(max_size=40))
@settings(max_examples=40, deadline=None)
def test_any_text_is_preserved_and_is_escaped_where_it_would_not_show(words):
    read = ParsedPage(to_html(make_element("p", words, title=words)))
    expected = make_printable_lines(words)
    assert read.tags == ["p"]
    assert "".join(read.texts) == f"\n{expected}\n", "a line break after doctype and page"
    assert dict(read.attributes) == {"title": expected}


def test_what_would_turn_or_hide_a_text_is_escaped():
    page = render_page(report_data("a\u202eb\u2066c\u200fd\x9be\u200bf"))
    assert r"a\u202eb\u2066c\u200fd\x9be\u200bf" in page
    assert not set("\u202e\u2066\u200f\x9b\u200b") & set(page)


def test_the_first_sentence_says_what_propagation_is_worth():
    def build_text(found: pb.Gauge) -> str:
        return " ".join(ParsedPage(render_page(report_data(gauge=found))).texts)

    assert "propagation helps" in build_text(gauge(0.8, 0.7, 0.01))
    assert "propagation hurts" in build_text(gauge(0.6, 0.7, 0.01))
    assert "no difference" in build_text(gauge(0.71, 0.7, 0.01))


def test_an_empty_service_has_a_page():
    bare = ReportData(pb.GetStatusResponse(), [], {}, {}, [], 0, datetime(2026, 1, 2, tzinfo=UTC))
    text = " ".join(ParsedPage(render_page(bare)).texts)
    assert "Nothing was ranked yet" in text
    assert "No evolution has run yet" in text


def test_published_runs_are_drawn_and_refused_ones_are_listed():
    read = ParsedPage(render_page(report_data()))
    shown = list(_list_texts(read))
    assert "run 1" in shown
    assert "run 2" not in shown
    assert "refused: worse" in shown
    assert ("class", "flow split") in read.attributes


def _list_texts(read: ParsedPage) -> Iterator[str]:
    return (text.strip() for text in read.texts)


def test_a_model_whose_answers_cannot_be_used_is_named():
    def warn(prompt="predict@1", **counts):
        spent = pb.PromptSpending(prompt=prompt, **counts)
        return list_model_warnings(pb.GetStatusResponse(spending=pb.Spending(prompts=[spent])))

    [sentence] = warn(lost_parts=900)
    assert sentence.startswith("100% of the answers to predict@1 could not be used")
    assert not warn(lost_parts=19), "too few to tell"
    assert not warn(parts=100, lost_parts=33), "33 of 67 parts, which were checked once or twice"
    assert len(warn(parts=100, lost_parts=34)) == 1
    [sentence] = warn(parts=100, lost_parts=50)
    assert sentence.startswith("100% of"), "each was refused when it was asked for once more"
    [sentence] = warn(prompt="summarize@3", lost_parts=900)
    assert "the offline reasoner wrote these routers' texts" in sentence
    assert "openai.router_texts=offline" in sentence


def test_a_model_that_does_not_answer_is_not_said_to_answer_badly():
    def warn(parts, unanswered, unusable=0, prompt="summarize@3"):
        spent = pb.PromptSpending(
            prompt=prompt,
            parts=parts,
            lost_parts=unanswered + unusable,
            losses=[
                pb.Loss(reason="unanswered", count=unanswered),
                pb.Loss(reason="echo", count=unusable),
            ],
        )
        return list_model_warnings(pb.GetStatusResponse(spending=pb.Spending(prompts=[spent])))

    [sentence] = warn(parts=0, unanswered=151)
    assert sentence.startswith("the endpoint did not answer 100% of what summarize@3 asked")
    assert "openai.router_texts" not in sentence, "other texts would not be answered either"
    assert not warn(parts=300, unanswered=151), "a third"
    [sentence] = warn(parts=100, unanswered=300)
    assert "did not answer 75%" in sentence
    [sentence] = warn(parts=100, unanswered=20, unusable=40)
    assert sentence.startswith("67% of the answers to summarize@3"), "40 of 60 were answered"
