"""Elements of the page.

The serialiser escapes all text; no other code writes markup.
"""

from collections.abc import Collection, Iterable
from importlib.resources import files
from xml.etree.ElementTree import Element, tostring

from services.runtime.console import make_printable_lines

Child = Element | str | None


def make_element(tag: str, *children: Child | Iterable[Child], **attributes: object) -> Element:
    """Make an element.

    Args:
        children: Elements, texts, or sequences of them; None is left out. If a shape's first child
            is a `title`, browsers show it when the reader points at the shape.
        attributes: Underscores at the end of a name are cut (`class_`), others become dashes
            (`stroke_width`). An attribute that is None is left out.
    """
    made = Element(
        tag,
        {
            key.rstrip("_").replace("_", "-"): make_printable_lines(str(value))
            for key, value in attributes.items()
            if value is not None
        },
    )
    for child in children:
        single = child is None or isinstance(child, (str, Element))
        for one in [child] if single else child:  # type: ignore[union-attr]
            _append(made, one)  # type: ignore[arg-type]
    return made


def write_document(title: str, *children: Child | Iterable[Child]) -> str:
    """Write a document, which loads no files and runs no scripts."""
    style = make_element("style")
    style.text = files("services.report").joinpath("style.css").read_text(encoding="utf-8")
    head = make_element(
        "head",
        make_element("meta", charset="utf-8"),
        make_element(
            "meta",
            http_equiv="Content-Security-Policy",
            content="default-src 'none'; style-src 'unsafe-inline'",
        ),
        make_element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        make_element("title", title),
        style,
    )
    body = make_element("body", make_element("main", *children))
    return to_html(make_element("html", head, body, lang="en"))


def to_html(page: Element) -> str:
    """Write an element as an HTML document."""
    return "<!DOCTYPE html>\n" + tostring(page, encoding="unicode", method="html") + "\n"


def draw_svg(
    width: float, height: float, label: str, *children: Child | Iterable[Child]
) -> Element:
    """Make an SVG that fills its column.

    A screen reader reads the label.
    """
    return make_element(
        "svg",
        *children,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=label,
        class_="drawing",
    )


def draw_text(x: float, y: float, text: str, anchor: str, style: str = "quiet") -> Element:
    """Make a text of a drawing; `anchor` is start, middle or end."""
    return make_element("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, class_=style)


def shorten(label: str, most: int) -> str:
    """Cut a label to at most so many characters.

    A longer one ends in an ellipsis.
    """
    return label if len(label) <= most else label[: most - 1].rstrip(" ,") + "…"


def trace_curve(x: float, y: float, to_x: float, to_y: float) -> str:
    """Return path data of a curve that begins and ends level."""
    bend = (x + to_x) / 2
    return f"M{x:.1f} {y:.1f} C{bend:.1f} {y:.1f} {bend:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"


def table(
    headers: Iterable[str], rows: Iterable[Iterable[Child]], numbers: Collection[int] = ()
) -> Element:
    """Make a table; the columns in `numbers` are right-aligned."""

    def row(tag: str, cells: Iterable[Child]) -> Element:
        return make_element(
            "tr",
            (
                make_element(tag, cell, class_="number" if column in numbers else None)
                for column, cell in enumerate(cells)
            ),
        )

    return make_element(
        "table",
        make_element("thead", row("th", headers)),
        make_element("tbody", (row("td", cells) for cells in rows)),
    )


def _append(parent: Element, child: Child) -> None:
    if isinstance(child, Element):
        parent.append(child)
    elif child and len(parent):
        parent[-1].tail = (parent[-1].tail or "") + make_printable_lines(child)
    elif child:
        parent.text = (parent.text or "") + make_printable_lines(child)
