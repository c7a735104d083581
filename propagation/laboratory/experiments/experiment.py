"""What an experiment is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from propagation.laboratory.experiments.claims import Claim, Slice
from propagation.laboratory.protocols.protocol import Protocol

Row = Sequence[float]


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper.

    Attributes:
        source: Where it stands in the paper.
        protocol: What is ranked; None: not built yet.
        measures: The protocol's measures that are columns; methods are compared by the last one.
        methods: Compared unless others are named.
        with_model: Compared, too, if a language model is named.
        by_model: Several models may be named; methods that ask them have a row for each.
        missing: Methods of the paper's table that are not built yet.
        published: The paper's figures by dataset and method, as `published_measures`. Their
            samples are not public, so they can be compared in order only.
        reference: The method that the others are compared to, unless another one is named.
        labels: The paper's names of methods whose own names differ.
        claims: What the paper says of its figures.
        counts: Seconds and methods' own counts that are columns.
        series: Methods' own series that are plotted over the time of learning.
        slices: Parts of the targets whose figures are listed.
        notes: What a reader of the figures must know.
    """

    name: str
    title: str
    source: str
    protocol: Protocol | None = None
    measures: Sequence[str] = ()
    methods: Sequence[str] = ()
    with_model: Sequence[str] = field(default=(), kw_only=True)
    by_model: bool = field(default=False, kw_only=True)
    missing: Sequence[str] = ()
    published_measures: Sequence[str] = ()
    published: Mapping[str, Mapping[str, Row]] = field(default_factory=dict)
    reference: str = "recnet"
    labels: Mapping[str, str] = field(default_factory=dict)
    claims: Sequence[Claim] = ()
    counts: Sequence[str] = ()
    series: Sequence[str] = ()
    slices: Sequence[Slice] = ()
    notes: Sequence[str] = ()

    @property
    def headers(self) -> Mapping[str, str]:
        """The header of each measure."""
        return self.protocol.measures if self.protocol else {}
