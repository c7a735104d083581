"""`propagation serve`, `settings`, `status`, `health` and `report`: the service and its state."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from propagation.grouping import group_pairs
from propagation.plurals import pluralize
from propagation.v1 import propagation_pb2 as pb
from services.cli.access import (
    LOOPBACK,
    RESULTS_ENDINGS,
    Address,
    AsJson,
    Assignments,
    Config,
    Database,
    ask,
    check_ending,
    check_output_file,
    load_settings,
)
from services.cli.exits import ExitCode
from services.cli.operator.runs import run_in_words
from services.client.errors import UsageProblem
from services.report.language_model import list_model_warnings
from services.report.operations import describe_round
from services.report.setting_sources import describe_source
from services.runtime.console import print_result, print_rows

WEB_PORT = 8080
SHOWN_JOBS = 3
"""How many jobs that fail for one reason are named."""


def serve(
    database: Database = None,
    host: Annotated[
        str | None,
        typer.Option(
            help="Address to bind; any other than loopback needs TLS and tokens, or --insecure."
        ),
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port to bind; 0 takes a free one.")] = None,
    insecure: Annotated[
        bool | None, typer.Option("--insecure", help="Bind any address without TLS and tokens.")
    ] = None,
    auto_create: Annotated[
        bool | None,
        typer.Option(
            "--auto-create", help="Create unknown users and items with their first event."
        ),
    ] = None,
    web: Annotated[
        bool,
        typer.Option(
            "--web", help="Serve the web page, too: on port 8080, unless web.port is set."
        ),
    ] = False,
    config: Config = None,
    log_format: Annotated[
        str | None, typer.Option(metavar="console|json", help="Format of the log lines on stderr.")
    ] = None,
    assignments: Assignments = None,
) -> None:
    """Run the service until SIGTERM or Ctrl-C.

    It prints `listening on HOST:PORT` when it is ready, and with --web the page's address. A second
    SIGTERM or Ctrl-C does not wait for running calls. Everything that was acknowledged is on disk.
    """
    loaded = load_settings(
        config,
        assignments,
        database=database,
        server__host=host,
        server__port=port,
        server__insecure=insecure,
        auto_create=auto_create,
        server__log_format=log_format,
    )
    if web and loaded.settings.web.port is None:
        from services.config.sources import SettingSource, SourceKind

        page = loaded.settings.web.model_copy(update={"port": WEB_PORT})
        loaded = replace(
            loaded,
            settings=loaded.settings.model_copy(update={"web": page}),
            sources={**loaded.sources, "web.port": SettingSource(SourceKind.FLAG, "--web")},
        )

    from services.server import Running
    from services.server import serve as run

    def announce(service: Running) -> None:
        print(f"listening on {service.address}", flush=True)
        if service.page is not None:
            print(f"the page is at {service.page}", flush=True)

    asyncio.run(run(loaded, announce))


def web(
    service: Annotated[
        str, typer.Option("--address", metavar="HOST:PORT", help="Address of the service.")
    ] = "127.0.0.1:50051",
    host: Annotated[str, typer.Option(help="Address on which the page is served.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port of the page; 0 takes a free one.")] = WEB_PORT,
    certificate: Annotated[
        Path | None, typer.Option(help="PEM file with the page's certificate; none: no TLS.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="PEM file with the private key of that certificate.")
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Serve on any address without TLS.")
    ] = False,
    reports: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="List the HTML files of this folder as reports."),
    ] = None,
) -> None:
    """Serve the web page of a service that runs elsewhere.

    It ends at SIGTERM or Ctrl-C. Visitors sign in with their own tokens. PROPAGATION_TLS and
    PROPAGATION_TLS_CA say how the service is verified; PROPAGATION_TOKEN is not used.
    """
    from propagation.adapters.shared.plain_secrets import is_loopback
    from propagation_client import Credentials
    from services.client.stub import build_credentials

    try:
        from services.web.server import PageOptions, run_page
    except ImportError as error:
        from services.runtime.errors import NotInstalled

        raise NotInstalled("`propagation web`", "web") from error
    local = is_loopback(host)
    if not (local or insecure or (certificate and key)):
        raise UsageProblem(
            f"--host {host} is not loopback: give --certificate and --key, or add --insecure if the"
            " network is trusted"
        )
    credentials: Credentials = build_credentials(os.environ)
    files = (credentials.ca, credentials.certificate, credentials.key, certificate, key)
    ca, client_certificate, client_key, own, own_key = (
        None if file is None else str(file) for file in files
    )
    options = PageOptions(
        host,
        port,
        service,
        tls=credentials.tls,
        ca=ca,
        client_certificate=client_certificate,
        client_key=client_key,
        certificate=own,
        key=own_key,
        token_needed=not local,
        reports=None if reports is None else str(reports.resolve()),
    )
    run_page(options, lambda address: print(f"the page is at {address}", flush=True))


def settings(
    running: Annotated[
        bool,
        typer.Option("--running", help="Ask the running service for its settings (role admin)."),
    ] = False,
    config: Config = None,
    assignments: Assignments = None,
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """Show the settings in force, and where each value comes from.

    Later sources win: defaults, a preset, the settings file, the environment
    (PROPAGATION_SERVER__PORT for server.port), flags. Without --running, a service is not asked: it
    shows what a command would use here.

    JSON: {key: {"value", "source"}}; with --running, the proto's GetSettingsResponse.
    """
    if running:
        if config or assignments:
            raise UsageProblem("--running shows the service's settings; leave --config, --set out")
        answer = ask(address, lambda stub: stub.GetSettings(pb.GetSettingsRequest()))
        print_rows(
            answer,
            ("setting", "value", "unit", "from"),
            [
                (
                    one.name,
                    one.value if one.HasField("value") else "none",
                    one.unit,
                    describe_source(one.source),
                )
                for one in answer.settings
            ],
            json=json,
        )
        return
    rows = load_settings(config, assignments).rows()
    print_rows(
        {key: {"value": value, "source": source} for key, value, source in rows},
        ("setting", "value", "from"),
        [(key, "none" if value is None else value, source) for key, value, source in rows],
        json=json,
    )


def status(address: Address = LOOPBACK, json: AsJson = False) -> None:
    """Show how far a service has got, and what it holds.

    JSON: the proto's GetStatusResponse.
    """
    answer = ask(address, lambda stub: stub.GetStatus(pb.GetStatusRequest()), wait=0)
    print_rows(answer, ("", ""), _list_facts(answer), json=json)


def _list_facts(answer: pb.GetStatusResponse) -> list[tuple[str, object]]:
    return [
        ("version", answer.version),
        ("policy", answer.policy),
        (
            "epoch",
            f"{answer.epoch}, {'bootstrapped' if answer.bootstrapped else 'not bootstrapped yet'}",
        ),
        ("users, items", f"{answer.users:,}, {answer.items:,}"),
        ("recorded through", f"{answer.recorded_through:,}"),
        ("learned through", f"{answer.learned_through:,} ({answer.learn_lag:,} behind)"),
        ("reasoned through", describe_reasoned(answer)),
        *(
            [("clients to describe", _describe_waiting_clients(answer))]
            if answer.clients_to_describe
            else []
        ),
        (
            "last round",
            describe_round(answer.last_round) if answer.HasField("last_round") else "none yet",
        ),
        (
            "propagation",
            "on" if answer.propagate else "off: no rounds, no reception, ranked without it",
        ),
        (
            "worth of propagation",
            describe_gauge(answer.gauge) if answer.HasField("gauge") else "nothing ranked yet",
        ),
        (
            "last evolution",
            run_in_words(answer.last_evolution)
            if answer.HasField("last_evolution")
            else "none yet",
        ),
        ("dead letters", f"{answer.dead_letters:,}"),
        *describe_predictors(answer),
        *describe_router_writer(answer),
        *describe_pace(answer),
        *(describe_spending(answer.spending) if answer.HasField("spending") else ()),
        *(
            (f"budget {budget.name}", f"{budget.used:g} of {budget.limit:g}")
            for budget in answer.budgets
        ),
        *((f"scheduled job {job.name}", describe_job(job)) for job in answer.jobs),
        *describe_failing(answer.failing),
    ]


def describe_failing(failing: Mapping[str, str]) -> list[tuple[str, object]]:
    """List what fails, and why.

    What fails for one reason shares a row.
    """
    by_reason = group_pairs((reason, job) for job, reason in failing.items())
    return [(f"failing: {_join_first(jobs)}", reason) for reason, jobs in by_reason.items()]


def _join_first(jobs: Sequence[str]) -> str:
    more = len(jobs) - SHOWN_JOBS
    shown = ", ".join(jobs[:SHOWN_JOBS] if more > 0 else jobs)
    return f"{shown} and {more:,} more" if more > 0 else shown


def describe_spending(spending: pb.Spending) -> list[tuple[str, object]]:
    """Describe the cost of each prompt, and of an average interaction.

    Returns:
        Rows of label and text; costs count since the service started.
    """
    facts: list[tuple[str, object]] = []
    for one in spending.prompts:
        usage = (
            f"{pluralize(one.calls, 'call')}, {one.cached:,} from the cache, "
            f"{one.prompt_tokens:,} + {pluralize(one.completion_tokens, 'token')}, "
            f"{one.seconds:,.0f} s"
        )
        money = f", {one.money:,.4f} money" if one.money else ""
        facts.append((f"spent on {one.prompt}", usage + money))
        if one.lost_parts or one.refused:
            facts.append((f"refused of {one.prompt}", describe_losses(one)))
    if number := spending.interactions:
        calls, prompt_tokens, completion_tokens = (
            sum(values) / number
            for values in zip(
                *(
                    (one.calls, one.prompt_tokens, one.completion_tokens)
                    for one in spending.prompts
                ),
                strict=True,
            )
        )
        facts.append(
            (
                "per interaction",
                f"{calls:.2f} calls, {prompt_tokens:,.0f} + {completion_tokens:,.0f} tokens "
                f"(mean of {number:,}; {spending.redone:,} redone)",
            )
        )
    return facts


def describe_reasoned(answer: pb.GetStatusResponse) -> str:
    """Describe how far texts are reasoned."""
    above = f"; {answer.reasoned_above:,} above it are done" if answer.reasoned_above else ""
    return f"{answer.reasoned_through:,} ({answer.reason_lag:,} behind{above})"


def describe_losses(spending: pb.PromptSpending) -> str:
    """Describe what was refused of a prompt's answers, and lost."""
    refused, lost = (
        ", ".join(f"{one.count:,} {one.reason}" for one in losses) or "none"
        for losses in (spending.refused, spending.losses)
    )
    return (
        f"{refused} in {pluralize(spending.parts, 'part')}; "
        f"{pluralize(spending.lost_parts, 'part')} lost: {lost}"
    )


def describe_predictors(answer: pb.GetStatusResponse) -> list[tuple[str, object]]:
    """Describe how good the recent predictions are, against chance.

    Returns:
        Rows of label and text, with a warning if the present model is no good.
    """
    rows: list[tuple[str, object]] = [
        (
            f"predictions of {one.name}",
            f"{one.share_right:.3f} ± {one.standard_error:.3f} right (chance .5), "
            f"{one.share_first:.3f} the first candidate, of the last {one.predictions:,}",
        )
        for one in answer.predictors
    ]
    return rows + [("warning", warning) for warning in list_model_warnings(answer)]


def describe_router_writer(answer: pb.GetStatusResponse) -> list[tuple[str, object]]:
    """Say who writes routers' texts, if it is not the reasoner itself."""
    if answer.router_writer in ("", answer.reasoner):
        return []
    return [
        (
            "routers' texts",
            f"{answer.router_writer} writes them, and {answer.reasoner} is not asked for any"
            " (openai.router_texts=offline)",
        )
    ]


def _describe_waiting_clients(answer: pb.GetStatusResponse) -> str:
    waiting = f"{answer.clients_to_describe:,}"
    if not answer.HasField("described_at"):
        return waiting
    return f"{waiting}, until {answer.described_at.ToDatetime():%Y-%m-%d %H:%M} UTC at this pace"


def describe_pace(answer: pb.GetStatusResponse) -> list[tuple[str, object]]:
    """Describe how fast a language model reasons."""
    pace = answer.pace
    if not pace.interactions:
        return []
    an_hour = f", {pace.per_hour:,.0f} an hour" if pace.HasField("per_hour") else ""
    done = (
        f"; the {answer.interactions_to_reason:,} that wait will be done at about"
        f" {pace.done_at.ToDatetime():%Y-%m-%d %H:%M} UTC"
        if pace.HasField("done_at")
        else ""
    )
    return [
        (
            "pace",
            f"{pace.seconds:,.1f} s and {pace.completion_tokens:,.0f} answer tokens an interaction"
            f"{an_hour}{done} (this process, mean of {pace.interactions:,})",
        )
    ]


def describe_gauge(gauge: pb.Gauge) -> str:
    """Return N@10 among few candidates on recent interactions, with and without propagation."""
    error = f" ± {gauge.standard_error:.4f}" if gauge.HasField("standard_error") else ""
    return (
        f"N@10 {gauge.with_propagation:.4f} with, {gauge.without:.4f} without: "
        f"{gauge.with_propagation - gauge.without:+.4f}{error} (recent ones of "
        f"{pluralize(gauge.interactions, 'interaction')})"
    )


def describe_job(job: pb.ScheduledJob) -> str:
    """Return a scheduled job as one line."""
    last = f"{job.last.ToDatetime():%Y-%m-%d %H:%M} UTC" if job.HasField("last") else "never"
    return f"last run {last}, next {job.next.ToDatetime():%Y-%m-%d %H:%M} UTC"


def health(address: Address = LOOPBACK) -> None:
    """Ask the standard health service; needs no token.

    Exit code 0 if the service is serving, else 1 or 4.
    """
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    from services.client.stub import build_credentials, open_client

    async def ask() -> bool:
        async with open_client(address, build_credentials(os.environ)) as client:
            answer = await health_pb2_grpc.HealthStub(client.channel).Check(
                health_pb2.HealthCheckRequest(), timeout=3.0
            )
            return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)

    serving = asyncio.run(ask())
    print("serving" if serving else "not serving")
    if not serving:
        raise typer.Exit(ExitCode.WRONG)


def report(
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            callback=check_output_file,
            help="The file to write.",
        ),
    ] = Path("propagation-report.html"),
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="A file of `evaluate --results`: show where ranking gains and loses.",
        ),
    ] = None,
    address: Address = LOOPBACK,
    json: AsJson = False,
) -> None:
    """Write one HTML page about a running service.

    The page opens without a network. It shows the routers as a map, the reach of messages, quality
    with and without propagation over time, the busiest and slowest parts, and the evolution runs.
    --results adds the slices of an evaluation: by the user's history and the item's adopters.

    JSON: {"file", "bytes"}.
    """
    from services.report.collect import collect_report
    from services.report.page import render_page

    evaluated = None
    if results is not None:
        from propagation.evaluation.reports.results_reader import read_slices

        check_ending("--results", results, RESULTS_ENDINGS)
        evaluated = read_slices(results)
    text = render_page(ask(address, collect_report), evaluated).encode()
    out.write_bytes(text)
    print_result({"file": out.resolve(), "bytes": len(text)}, f"{out.resolve()}", json=json)
