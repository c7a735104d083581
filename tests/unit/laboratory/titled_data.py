"""A dataset whose items have titles, and a language model that knows who took what."""

import json
from collections.abc import Mapping
from contextlib import asynccontextmanager

import numpy as np

from propagation.datasets.dataset import Events, assemble
from propagation.laboratory.methods.asking.shown_items import ShownItems
from propagation.laboratory.runs import (
    open_run,
    plan_run,
    read_parts,
    run_methods,
)
from propagation.model import ClientChange, ClientKey, ClientKind
from services.config.settings import Settings
from services.fake_llm.planted import PlantedLLM
from services.fake_llm.server import fake_llm
from services.laboratory.methods import build_methods as build
from services.laboratory.model import LabModel

USERS, ITEMS, EACH = 200, 120, 24


def build_titled_dataset(users=USERS, items=ITEMS, each=EACH, seed=5):
    """Users take items at random, popular ones more often."""
    draw = np.random.default_rng(seed)
    weight = 1 / np.arange(2, items + 2)
    events = Events("titled")
    for user in range(users):
        taken = draw.choice(items, each, replace=False, p=weight / weight.sum())
        for moment, item in enumerate(taken):
            events.append(f"u{user}", f"i{item}", 1_000 * (moment * users + user))
    catalogue = {
        f"i{n}": ClientChange(
            key=ClientKey(kind=ClientKind.ITEM, id=f"i{n}"),
            title=f"Record {n}",
            categories=("jazz" if n % 2 else "soul",),
        )
        for n in range(items)
    }
    return assemble("titled", catalogue, {}, events, seed)


def write_titled_dataset(folder, **sizes):
    """Write the same as JSON Lines into a new folder; return the folder."""
    folder.mkdir()
    dataset = build_titled_dataset(**sizes)
    items = [
        {"kind": "item", "id": one.key.id, "title": one.title, "categories": list(one.categories)}
        for one in dataset.items
    ]
    (folder / "clients.jsonl").write_text("\n".join(map(json.dumps, items)))
    events = [
        {"user_id": one.user_id, "item_id": one.item_id, "time": one.time // 1_000}
        for one in dataset.events
    ]
    (folder / "events.jsonl").write_text("\n".join(map(json.dumps, events)))
    return folder


def find_right_items(dataset, protocol) -> Mapping[str, set[str]]:
    """Return by history, as prompts show it, the texts of the items that the user will take."""
    history, targets = protocol.split(dataset)
    shown = ShownItems(dataset)
    histories = shown.list_histories(history)
    held_out = targets.held_out or [[item] for item in targets.item]
    return {
        "\n".join(histories[user]): {shown.show(int(item)) for item in items}
        for user, items in zip(targets.user.tolist(), held_out, strict=True)
    }


def build_settings(server, **options):
    return Settings.model_validate(
        {
            "reasoner": "openai",
            "openai": {
                "base_url": server.base_url,
                "model": "planted",
                "in_flight": 20,
                **options,
            },
        }
    )


def build_asking(names, dataset, model):
    return build(names, dataset, Settings(), lambda events: events, model)


async def run_planted(folder, dataset, protocol, names, server, seeds=(1,), **options):
    """Run methods against a planted server; return their parts and the outcome."""
    model = LabModel(build_settings(server, **options), patience=0.0)
    methods = build_asking(names, dataset, model)
    with open_run(folder, plan_run("afl/test", dataset, protocol)):
        async with model.open(folder):
            outcome = await run_methods(
                folder, dataset, protocol, methods, seeds, lambda *counts: None
            )
    return read_parts(folder, [method.name for method in methods]), outcome


@asynccontextmanager
async def planted_server(planted, script=None):
    async with fake_llm(script, kind=PlantedLLM) as server:
        server.planted = planted
        yield server
