"""`propagation lab list`."""

from services.cli.access import AsJson
from services.runtime.console import print_json, print_table


def list_experiments(json: AsJson = False) -> None:
    """List the experiments, what they need, and what is built of them.

    Calls are the most that all its methods make of a language model with one seed, if you name one:
    by target, by known event and by item with a text. They are counted on made-up data; `run`
    counts them on yours before it asks. Without a model there are none.

    JSON: [{"name", "title", "source", "built", "needs", "calls": {"a_target", "an_event",
    "an_item"}, "for_each_model", "methods", "with_model", "missing"}].
    """
    from propagation.laboratory.experiments.catalogue import EXPERIMENTS
    from services.laboratory.needs import count_call_rates, describe_needs, list_needs

    if json:
        print_json(
            [
                {
                    "name": one.name,
                    "title": one.title,
                    "source": one.source,
                    "built": one.protocol is not None,
                    "needs": list_needs(one) if one.protocol else [],
                    "calls": count_call_rates(one)._asdict(),
                    "for_each_model": one.by_model,
                    "methods": list(one.methods),
                    "with_model": list(one.with_model),
                    "missing": list(one.missing),
                }
                for one in EXPERIMENTS.values()
            ]
        )
        return
    headers = ("experiment", "what", "needs", "calls of a model", "methods")
    rows = [
        (
            one.name,
            one.title,
            *describe_needs(one),
            ", ".join((*one.methods, *one.with_model))
            if one.protocol is not None
            else "not built yet",
        )
        for one in EXPERIMENTS.values()
    ]
    print_table("Experiments", headers, rows, ())
