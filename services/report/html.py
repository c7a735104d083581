"""Elements of a page. Text and attributes are escaped by the serialiser: nothing here, nor in any
caller, writes markup."""

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, tostring

Child = Element | str | None
# What XML has no way to write and HTML forbids: controls, and halves of surrogate pairs.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def element(tag: str, *children: Child | Iterable[Child], **attributes: object) -> Element:
    """`class_` and `for_` lose their underscore, others are dashes (`stroke_width`); None leaves an
    attribute out."""
    made = Element(
        tag,
        {_name(key): _clean(str(value)) for key, value in attributes.items() if value is not None},
    )
    for child in children:
        if child is None or isinstance(child, (str, Element)):
            _add(made, child)
        else:
            for one in child:
                _add(made, one)
    return made


def titled(shape: Element, words: str) -> Element:
    """A shape of a drawing that says what it is when it is pointed at."""
    shape.insert(0, element("title", words))
    return shape


def written(page: Element) -> str:
    """The document as HTML."""
    return "<!DOCTYPE html>\n" + tostring(page, encoding="unicode", method="html") + "\n"


def drawing(width: float, height: float, label: str, *children: Child | Iterable[Child]) -> Element:
    """An SVG that fills its column; `label` is read to those who don't see it."""
    return element(
        "svg",
        *children,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=label,
        class_="drawing",
    )


def table(
    headers: Iterable[str], rows: Iterable[Iterable[Child]], numbers: Iterable[int] = ()
) -> Element:
    """`numbers`: columns that are right-aligned."""
    right = frozenset(numbers)
    made = element(
        "table",
        element(
            "thead",
            element(
                "tr",
                (
                    element("th", header, class_="number" if place in right else None)
                    for place, header in enumerate(headers)
                ),
            ),
        ),
    )
    body = SubElement(made, "tbody")
    for row in rows:
        body.append(
            element(
                "tr",
                (
                    element("td", cell, class_="number" if place in right else None)
                    for place, cell in enumerate(row)
                ),
            )
        )
    return made


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _clean(text: str) -> str:
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def _add(parent: Element, child: Child) -> None:
    if isinstance(child, Element):
        parent.append(child)
    elif child:
        if len(parent):
            parent[-1].tail = (parent[-1].tail or "") + _clean(child)
        else:
            parent.text = (parent.text or "") + _clean(child)
