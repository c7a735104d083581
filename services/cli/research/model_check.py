"""`propagation model-check`: measure whether a language model suits."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from services.cli.access import (
    AsJson,
    Assignments,
    Config,
    check_output_file,
    get_settings,
)
from services.client.errors import Unreachable
from services.runtime.console import (
    make_printable_json,
    print_error,
    print_json,
    print_table,
    print_text,
    show_progress,
)

if TYPE_CHECKING:
    from services.config.settings import Settings
    from services.model_check.report import ModelReport


def model_check(
    data: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Your own data; default: a generated town."),
    ] = None,
    questions: Annotated[
        int, typer.Option(metavar="N", min=30, max=6_000, help="About how many questions to ask.")
    ] = 60,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the generated town and of all random draws.")
    ] = 7,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            callback=check_output_file,
            help="Write the whole report as JSON.",
        ),
    ] = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Measure a language model with the service's own questions.

    The endpoint is that of the settings, as `serve` takes them (--set openai.base_url=...
    openai.model=...), with their limits, prices and budgets. Choices between two items are asked in
    both orders; items are described one, four and ten a call; whole interactions give the time and
    the money for the events of the data. Nothing is stored. docs/llm-models.md explains the table.

    Exit code 1 if no answer can be used, 4 if the address is down, is no endpoint, or lacks the
    model. JSON: {"model", "data", "questions", "seed", "figures":
    {"validity", "choices", "names", "costs", "pace", "context_tokens"}, "settings", "estimate",
    "advice", "notes"}.
    """
    settings = get_settings(config, assignments)
    report = _run(settings, data, questions, seed)
    if save:
        save.write_text(make_printable_json(report.model_dump_json(indent=2)), encoding="utf-8")
    print_json(report.model_dump(mode="json")) if json else _show(report)


def _run(settings: "Settings", data: Path | None, questions: int, seed: int) -> "ModelReport":
    """Measure the model.

    Raises:
        Unreachable: The endpoint does not answer, or is no endpoint of this model.
    """
    from propagation.datasets.generated_town import generate_town
    from propagation.datasets.load import load_dataset
    from propagation.model import EndpointUnavailable, ReasonerUnavailable, WrongEndpoint
    from services.cli.exits import ExitCode
    from services.model_check.report import measure_model
    from services.model_check.run import NothingUsable

    dataset = generate_town(seed).dataset if data is None else load_dataset(data, seed)
    try:
        with show_progress(f"asking {settings.openai.model}") as progress:
            return asyncio.run(measure_model(settings, dataset, questions, seed, progress))
    except EndpointUnavailable as error:
        raise Unreachable(f"{settings.openai.base_url} does not answer: {error}") from error
    except WrongEndpoint as error:
        raise Unreachable(str(error)) from error
    except ReasonerUnavailable as error:
        asked = f"{settings.openai.model} at {settings.openai.base_url}"
        raise ReasonerUnavailable(f"{asked} cannot be asked: {error}") from error
    except NothingUsable as error:
        print_error(f"propagation: {error}")
        raise typer.Exit(ExitCode.WRONG) from error


def _show(report: "ModelReport") -> None:
    from propagation.plurals import pluralize
    from services.model_check.figures import divide

    figures = report.figures
    validity, choices, pace = figures.validity, figures.choices, figures.pace
    print_text(*report.notes)
    print_table(
        f"{report.model} on {report.data}: {report.questions} questions",
        ("measured", "share", "of"),
        [
            (
                "usable parts of answers",
                f"{validity.accepted_share:.0%}",
                f"{validity.parts} parts",
            ),
            (
                "echoes of the question",
                f"{divide(validity.echoes, validity.texts):.0%}",
                f"{validity.texts} parts with texts",
            ),
            (
                "repetition within a text",
                f"{divide(validity.repetitions, validity.texts):.0%}",
                f"{validity.texts} parts with texts",
            ),
            (
                "right choices (chance .50)",
                _format_right(choices.right, choices.error),
                f"{choices.answered} choices, {choices.asked - choices.answered} lost",
            ),
            ("first place chosen", _format_share(choices.first), f"{choices.answered} choices"),
            (
                "answer follows the place (by luck: .50)",
                _format_share(choices.by_place),
                f"{pluralize(choices.pairs, 'pair')} asked in both orders",
            ),
        ],
        ("share",),
    )
    if figures.names:
        print_table(
            "Descriptions of items, as the model wrote them first",
            ("clients a call", "items", "name their item", "name another of the call"),
            [
                (
                    one.clients_a_call,
                    one.items,
                    f"{divide(one.own, one.items):.0%}",
                    f"{divide(one.other, one.items):.0%}",
                )
                for one in figures.names
            ],
            ("clients a call", "items", "name their item", "name another of the call"),
        )
    else:
        print_text("No item has a title, so it is not known whether descriptions name their items.")
    columns = ("calls", "seconds a call", "seconds", "tokens sent", "tokens received", "money")
    print_table(
        f"Cost of one, with {pace.at_once:.1f} of at most {pace.in_flight} calls in flight",
        ("work", *columns),
        [
            (
                cost.work,
                f"{cost.calls:.2f}",
                f"{cost.seconds_a_call:.2f}",
                f"{cost.seconds:.2f}",
                f"{cost.prompt_tokens:,.0f}",
                f"{cost.completion_tokens:,.0f}",
                f"{cost.money:.6f}",
            )
            for cost in figures.costs
        ],
        columns,
    )
    print_text(*report.describe())


def _format_share(share: float | None) -> str:
    return "none" if share is None else f"{share:.2f}"


def _format_right(right: float | None, error: float | None) -> str:
    return _format_share(right) + ("" if error is None else f" ± {error:.2f}")
