"""Builds the laboratory's methods by their names."""

import asyncio
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from operator import getitem
from pathlib import Path

from propagation.datasets.dataset import Dataset
from propagation.evaluation.stream import EvaluationSettings
from propagation.laboratory.methods import Method, Popularity, Program, Random
from propagation.laboratory.methods.asking import asks_model as is_asking
from propagation.laboratory.methods.asking.shown_items import check_titled
from propagation.laboratory.methods.dependencies import digest, list_own_packages
from propagation.laboratory.methods.method import Dependencies
from propagation.laboratory.methods.recnet import (
    ENGINE_VARIANTS,
    NUMBERS_VARIANTS,
    AskingRecNet,
    Convert,
    CountedReasoner,
    EnginePace,
    EngineVariant,
    LinkReasoner,
    ModelAnswers,
    NumbersMethod,
    OfflineAnswers,
    PointToPoint,
    Ranker,
    RecNet,
    ReplayCache,
    ReplayPlan,
)
from propagation.laboratory.methods.wrappers.in_turn import take_turns
from propagation.laboratory.methods.wrappers.of_model import OfModel
from propagation.ports import Reasoner
from propagation.workflow.engine import Engine
from propagation.workflow.settings import WorkflowSettings
from services.assembly import FITTABLE_EMBEDDERS, build_engine
from services.client.errors import UsageProblem
from services.config.settings import PRESETS, Settings
from services.laboratory.asking_methods import FORMS, AskingMethods, asks_model
from services.laboratory.baselines import ENVIRONMENTS
from services.laboratory.model import LabModel
from services.runtime.process import SystemClock

OWN_PROGRAM = "program:"
PROGRAM_MINUTES = 60.0
REMARK_OFFLINE = (
    "no language model: texts by the offline reasoner, rankings by the numbers; --model names one"
)
REMARK_DEFAULT = "the service as it is by default, without a language model"
KNOWN = ("random", "pop", *ENVIRONMENTS, *ENGINE_VARIANTS, *NUMBERS_VARIANTS)


def build_methods(
    names: Sequence[str],
    dataset: Dataset,
    settings: Settings,
    convert: Convert,
    model: LabModel | None = None,
    minutes: float = PROGRAM_MINUTES,
) -> list[Method]:
    """Build methods.

    Args:
        names: Names in KNOWN, of methods that ask a model, or `program:PATH` for one's own program.
        settings: Of the methods that ask no model.
        convert: Checks events and converts them for recording.
        model: What the others ask; None: they are refused.
        minutes: After which one's own program is ended.

    Raises:
        UsageProblem: A name is not known, two methods have one name, a program is missing, or the
            settings name a model.
    """
    replays, turn = ReplayCache(dataset, convert), asyncio.Lock()

    def build_base(name: str) -> Method:
        """Build a method that asks no model."""
        _check_name(name)
        method = _build(name, replays, settings, minutes)
        return take_turns(method, turn) if asking else method

    def build_own(name: str) -> Method:
        """Build a method of the run; RecNet may ask the model."""
        if model is not None and name in ENGINE_VARIANTS and ENGINE_VARIANTS[name].may_ask:
            check_titled(dataset)
            return _build_asking_variant(name, replays, settings, model)
        return builder.build_plain(name) if builder else build_base(name)

    asking = [name for name in names if asks_model(name)]
    if asking and model is None:
        raise UsageProblem(
            f"--methods: {asking[0]} asks a language model: name one with --model NAME and --set"
            " openai.base_url=ADDRESS, or leave it out"
        )
    builder = AskingMethods(dataset, model, build_base) if asking and model else None
    around = {name: builder.build(name) for name in asking} if builder else {}
    methods = [around[name] if name in around else build_own(name) for name in names]
    built = [method.name for method in methods]
    if twice := sorted({name for name in built if built.count(name) > 1}):
        raise UsageProblem(f"--methods: two methods are called {twice[0]!r}; rename one file")
    return methods


def name_by_model(
    groups: Mapping[LabModel | None, Sequence[Method]],
) -> dict[LabModel | None, list[Method]]:
    """Name asking methods by their model; keep others once."""
    out: dict[LabModel | None, list[Method]] = {}
    known = set[str]()
    for model, methods in groups.items():
        named = [
            OfModel(method, model.name) if model and is_asking(method) else method
            for method in methods
        ]
        out[model] = [method for method in named if method.name not in known]
        known.update(method.name for method in named)
    return out


def _check_name(name: str) -> None:
    if name not in KNOWN and not name.startswith(OWN_PROGRAM):
        raise UsageProblem(
            f"--methods: {name!r} is not a method; choose among {', '.join((*KNOWN, *FORMS))}, or"
            " give program:PATH for a program of your own (docs/laboratory.md)"
        )


def _build(name: str, replays: ReplayCache, settings: Settings, minutes: float) -> Method:
    if name == "random":
        return Random()
    if name == "pop":
        return Popularity()
    if name in ENGINE_VARIANTS:
        return _build_engine_variant(name, replays, settings)
    if name in NUMBERS_VARIANTS:
        return _build_numbers_variant(name, replays.dataset, settings)
    if name in ENVIRONMENTS:
        return ENVIRONMENTS[name].build(name)
    return _build_program(Path(name.removeprefix(OWN_PROGRAM)), replays.dataset, minutes)


def _check_no_model(name: str, settings: Settings) -> None:
    if settings.reasoner != "offline" or settings.embedder not in FITTABLE_EMBEDDERS:
        raise UsageProblem(
            f"{name} asks no model here, but reasoner is {settings.reasoner!r} and embedder"
            f" {settings.embedder!r}: set reasoner=offline and embedder=fitted, or leave it out of"
            " --methods"
        )


def _build_engine_variant(name: str, replays: ReplayCache, settings: Settings) -> Method:
    _check_no_model(name, settings)
    variant = ENGINE_VARIANTS[name]
    workflow = _change_by_variant(settings, variant)
    deciding = _describe_plan(settings, variant, workflow)
    plan = ReplayPlan(
        _list_dependencies(deciding),
        deciding,
        partial(
            _open_engine,
            settings.model_copy(update={"workflow": workflow}),
            replays.described,
            CountedReasoner,
        ),
        variant.step,
        variant.merges_at_once,
        REMARK_OFFLINE if variant.may_ask else REMARK_DEFAULT,
        _send_between_clients(variant, OfflineAnswers()),
    )
    return RecNet(name, plan, replays, Ranker.NUMBERS if variant.propagate else Ranker.NUMBERS_OFF)


def _build_asking_variant(
    name: str, replays: ReplayCache, settings: Settings, model: LabModel
) -> Method:
    """Build a variant whose reasoner is the run's model, which also ranks."""
    _check_no_model(name, settings)
    variant = ENGINE_VARIANTS[name]
    # Replies are kept: a second attempt would get the same ones.
    workflow = _change_by_variant(settings, variant).model_copy(update={"reason_attempts": 1})
    deciding = f"{model.reasoner_identity} {_describe_plan(settings, variant, workflow)}"
    links = ModelAnswers(model.ask_uncounted(name))
    plan = ReplayPlan(
        {
            "model": model.reasoner_identity,
            **_list_dependencies(deciding),
            **(links.depends_on if variant.way else {}),
        },
        deciding,
        partial(
            _open_engine,
            settings.model_copy(update={"workflow": workflow}),
            replays.described,
            lambda offline: CountedReasoner(model.build_reasoner(name), is_shared=True),
        ),
        variant.step,
        variant.merges_at_once,
        f"texts and rankings by {model.name}",
        _send_between_clients(variant, links),
    )
    return AskingRecNet(
        name,
        plan,
        replays,
        Ranker.REASONER,
        pace=EnginePace(workflow, model.options, variant.step, variant.merges_at_once, variant.way),
        check_usable=model.check_usable,
    )


def _change_by_variant(settings: Settings, variant: EngineVariant) -> WorkflowSettings:
    preset = PRESETS[variant.preset] if variant.preset else {}
    return change_workflow(settings.workflow, {**preset, **variant.settings})


def _describe_plan(settings: Settings, variant: EngineVariant, workflow: WorkflowSettings) -> str:
    pace = (
        f"{variant.step} events a step, {'merged at once' if variant.merges_at_once else 'buffer'}"
    )
    sends = f" {variant.way}" if variant.way else ""
    return f"{settings.embedder} {pace}{sends} {workflow.model_dump_json()}"


def _send_between_clients(
    variant: EngineVariant, reasoner: LinkReasoner
) -> Callable[[Engine], PointToPoint] | None:
    way = variant.way
    return (lambda engine: PointToPoint(engine, way, reasoner)) if way else None


def _build_numbers_variant(name: str, dataset: Dataset, settings: Settings) -> Method:
    _check_no_model(name, settings)
    sizes = EvaluationSettings(
        session_k=settings.workflow.session.k,
        taste_k=settings.workflow.taste.k,
        tau=settings.workflow.tau,
        ranker=settings.workflow.ranker,
    )
    features = NUMBERS_VARIANTS[name]
    deciding = f"{settings.embedder} {[one.name for one in features]} {sizes.model_dump_json()}"
    embedder = FITTABLE_EMBEDDERS[settings.embedder](settings)
    return NumbersMethod(name, _list_dependencies(deciding), dataset, features, embedder, sizes)


def _list_dependencies(deciding: str) -> Dependencies:
    """List what RecNet depends on.

    Args:
        deciding: Its settings, as text.
    """
    return {**list_own_packages("numpy", "numba"), "settings": digest(deciding)}


def change_workflow(workflow: WorkflowSettings, changes: Mapping[str, object]) -> WorkflowSettings:
    """Change settings of the workflow.

    Args:
        changes: Values by name; a name may have a dot, as `taste.k`.
    """
    values = workflow.model_dump()
    for name, value in changes.items():
        *path, last = name.split(".")
        reduce(getitem, path, values)[last] = value
    return WorkflowSettings.model_validate(values)


def _open_engine(
    settings: Settings,
    described: int,
    wrap_reasoner: Callable[[Reasoner], CountedReasoner],
    database: Path,
    seed: int,
) -> Engine:
    """Build an engine whose first routers need no large catalogue.

    An operator would run `propagation init` there.

    Args:
        described: How many items have text.
        wrap_reasoner: Takes the offline reasoner; the result may ask another one.
    """
    first = min(settings.workflow.bootstrap_items, max(described, 1))
    workflow = settings.workflow.model_copy(update={"seed": seed, "bootstrap_items": first})
    return build_engine(
        settings.model_copy(
            update={
                "store": "sqlite",
                "index": "numpy",
                "database": database,
                "workflow": workflow,
                "reasoning_in": "loop",  # so that its questions are counted
            }
        ),
        clock=SystemClock(),
        wrap_reasoner=wrap_reasoner,
    )


def _build_program(path: Path, dataset: Dataset, minutes: float) -> Method:
    if not path.is_file():
        raise UsageProblem(f"--methods: {str(path)!r} is no file")
    command = [sys.executable] if path.suffix == ".py" else []
    return Program(
        path.stem,
        [*command, str(path.absolute())],
        path,
        f"{path} cannot be run: a file that does not end in .py must be executable",
        minutes,
        dataset.items,
        lambda: {"python": platform.python_version()} if command else {},
    )
