"""Lines of earlier versions, evolutions' messages and moved rules on the page; trust."""

import html
import re
from dataclasses import replace

from propagation.model import ClientKey, ClientKind, FilterMemory, FilterRule
from propagation.v1 import propagation_pb2 as pb
from tests.service.evolution_traces import (
    drop_past,
    evolve,
    find_moved_rule,
    find_reworded_line,
    hear_evolution,
    read_profile,
)
from tests.service.scenarios import ANN, propagate_opera
from tests.unit.workflow.evolve.planted_communities import STYLES, draw_events, push


def read_text(answer) -> str:
    """Return the text of a page without its markup."""
    assert answer.status_code == 200, answer.text
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


def find_link(answer, begin: str) -> str:
    """Return the first address of a page that begins so."""
    found = re.search(f'href="({re.escape(html.escape(begin))}[^"]*)"', answer.text)
    assert found, f"{begin} is not linked"
    return html.unescape(found[1])


async def test_the_address_of_a_line_keeps_its_meaning(evolving_service, start_page):
    key, id_, version = await find_reworded_line(evolving_service)
    now = await read_profile(evolving_service, key)
    [line] = [line for line in now.lines if line.id == id_]
    async with start_page(evolving_service.address) as page:
        profile = await page.get(f"/client?kind=user&id={key.id}")
        address = find_link(profile, f"/trace?line={id_}&kind=user&id={key.id}&version=")
        assert address.endswith(f"&version={now.version}")
        early = read_text(await page.get(address.replace(f"={now.version}", f"={version}")))
        more = await page.get(f"{address}&limit=1")
    asked = pb.LineOfProfile(client=key, line_id=id_, version=version)
    traced = await evolving_service.stub.TracePropagation(pb.TracePropagationRequest(line=asked))
    assert traced.line.line.text != line.text
    assert f"{traced.line.line.text} Line {id_} of version {version}" in early
    assert f"The line was reworded since. It reads now: {line.text}" in early
    for path in traced.paths:
        assert path.hops[-1].text in early
    if "There are more paths" in more.text:
        assert f"version={now.version}&amp;limit=5" in more.text


async def test_a_version_that_never_was_gets_one_sentence(service, start_page):
    line = await propagate_opera(service)
    async with start_page(service.address) as page:
        answer = await page.get(f"/trace?line={line.id}&kind=user&id=ann&version=999")
        assert answer.status_code == 404
        assert "The profile has no version 999 yet." in answer.text
        wrong = await page.get(f"/trace?line={line.id}&kind=user&id=ann&version=x")
        assert wrong.status_code == 400


async def test_a_line_of_a_version_that_is_no_longer_kept_is_shown_as_it_is_now(
    evolving_service, start_page
):
    key, id_, version = await find_reworded_line(evolving_service)
    now = await read_profile(evolving_service, key)
    [line] = [line for line in now.lines if line.id == id_]
    await drop_past(evolving_service)
    async with start_page(evolving_service.address) as page:
        address = f"/trace?line={id_}&kind=user&id={key.id}&version={version}"
        shown = await page.get(address + "&limit=1")
        gone = await page.get(address.replace(f"line={id_}&", "line=9999&"))
    assert f"{line.text} Line {id_} of version {now.version}" in read_text(shown)
    dropped = f"Version {version} of the profile is no longer kept"
    assert f"{dropped}; this is the line as it is now." in read_text(shown)
    if "There are more paths" in shown.text:
        assert f"version={version}&amp;limit=5" in shown.text, "the address keeps its meaning"
    assert gone.status_code == 404
    missing = "and the present version has no line 9999 that your token may read."
    assert f"{dropped}, {missing}" in gone.text


async def test_what_an_evolution_wrote_says_so(evolving_service, start_page):
    run, key, line = await hear_evolution(evolving_service)
    message = next(one.message for one in line.sources if one.message.HasField("evolution"))
    words = f"evolution run {run.run} at sequence {run.sequence}, which rewrote router"
    async with start_page(evolving_service.address) as page:
        profile = await page.get(f"/client?kind=user&id={key.id}")
        assert f"written by {words}" in read_text(profile)
        assert "which passed on what brought" not in read_text(profile)
        trace = await page.get(find_link(profile, f"/trace?line={line.id}&"))
        text = read_text(trace)
        assert "which an evolution of the routers wrote." in text
        assert " 0 events" not in text
        assert f"written by {words}" in text
        assert f"sent by the round at sequence {run.sequence}" not in text
        assert f"nobody’s: it was written by {words}" in text
        address = f"/routers/taste/{message.router}/messages?version={message.version}"
        sent = await page.get(find_link(trace, address))
        assert f"Up to message {message.version}." in read_text(sent)
        assert words in read_text(sent)
        first = sent.text.split("<article")[1]
        assert f"Message {message.version}" in first


async def test_a_moved_rule_leads_to_the_router_that_it_was_written_about(
    evolving_service, start_page
):
    await evolve(evolving_service)
    key, rule = await find_moved_rule(evolving_service)
    number = rule.first_router
    asked = pb.GetRouterRequest(number=number, as_of=pb.AsOf(sequence=rule.age))
    then = (await evolving_service.stub.GetRouter(asked)).router
    now = (await evolving_service.stub.GetRouter(pb.GetRouterRequest(number=rule.router))).router
    async with start_page(evolving_service.address) as page:
        profile = await page.get(f"/client?kind=user&id={key.id}")
        rules = profile.text.split('id="rules"')[1].split("</section>")[0]
        shown = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", rules)).split())
        assert f'<a href="/routers/taste/{number}?at={rule.age}">' in rules
        name = f"{then.name} , " if then.name else ""
        assert f"about {name}router {number} of then ; evolution has moved it." in shown
        assert f"{now.name} router {rule.router}" in shown
        assert (await page.get(f"/routers/taste/{number}?at={rule.age}")).status_code == 200


async def test_messages_of_a_router_that_is_gone_say_what_became_of_it(
    evolving_service, start_page
):
    run = await evolve(evolving_service)
    [new] = {number for one in run.changes for number in one.after} - {0, 1}
    await push(evolving_service.engine, draw_events(STYLES[:3], 40, seed=3, loyal=1.0))
    undo = pb.EvolveRoutersRequest(undo_run=run.run)
    await evolving_service.stub.EvolveRouters(undo)
    async with start_page(evolving_service.address) as page:
        text = read_text(await page.get(f"/routers/taste/{new}/messages"))
        assert "The router that sent it is gone: evolution run 2 merged it into router 0." in text
        kept = read_text(await page.get("/routers/taste/0/messages"))
        assert "is gone" not in kept
        runs = await page.get("/evolution")
        assert f'<a class="router" href="/routers/taste/{new}"' not in runs.text
        assert f'<a class="router" href="/routers/taste/{new}/messages"' in runs.text
        assert "undone by run 2" in read_text(runs)
        await evolving_service.stub.EvolveRouters(pb.EvolveRoutersRequest(undo_run=2))
        runs = read_text(await page.get("/evolution"))
        assert "undone by run 2" not in runs, "run 3 undid that"
        assert "undone by run 3" in runs


async def test_messages_of_a_router_from_before_a_bootstrap_say_so(service, start_page):
    router = (await propagate_opera(service)).sources[0].message.router
    words = "A bootstrap has replaced the router that sent it"
    async with start_page(service.address) as page:
        address = f"/routers/taste/{router}/messages"
        assert words not in (await page.get(address)).text
        await service.engine.init()
        first = (await page.get(address)).text.split("<article")[-1]
        assert words in first


async def test_routers_show_the_users_who_trust_them_most(service, start_page):
    await propagate_opera(service)
    listed = await service.stub.ListRouters(pb.ListRoutersRequest(bank=pb.BANK_TASTE))
    order = sorted(listed.routers, key=lambda one: -one.trusted_by)
    trusted = order[0]
    users = "1 user" if trusted.trusted_by == 1 else f"{trusted.trusted_by} users"
    assert sum(one.trusted_by for one in order) == 3
    async with start_page(service.address) as page:
        answer = await page.get("/routers?sort=trust")
        first = answer.text.split("<tbody>")[1].split("</tr>")[0]
        assert f'/routers/taste/{trusted.number}"' in first
        assert f'<td class="number">{trusted.trusted_by}</td>' in first
        assert f"trusted most by {users}" in answer.text, "the tooltip"
        one = read_text(await page.get(f"/routers/taste/{trusted.number}"))
        assert f"trusted most by {users}" in one
        for other in (f"/routers?at={trusted.sequence}", "/routers?bank=session"):
            assert not re.search("trusted (most )?by", (await page.get(other)).text), other


async def test_a_moved_rule_says_if_its_router_of_then_is_no_longer_kept(
    evolving_service, start_page
):
    run = await evolve(evolving_service)
    key, rule = await find_moved_rule(evolving_service)
    store = evolving_service.engine.store
    while await store.prune(run.sequence, 1_000) is not None:
        pass
    async with start_page(evolving_service.address) as page:
        profile = await page.get(f"/client?kind=user&id={key.id}")
    text = read_text(profile)
    assert f"about router {rule.first_router} of then, which is no longer kept" in text
    assert f"?at={rule.age}" not in profile.text


async def test_a_rule_about_a_router_from_before_a_bootstrap_is_not_shown(service, start_page):
    await propagate_opera(service)
    store = service.engine.store
    [ann] = await store.find_refs([ClientKey(kind=ClientKind.USER, id="ann")])
    text = (await store.load_texts([ann]))[ann]
    sequence = await store.get_recorded_through()
    rule = FilterRule(router=1, factor=0.8, text="Be wary of router 1.", age=sequence)
    profile = replace(text.profile, version=text.profile.version + 1)
    memory = FilterMemory(rules=(rule,))
    await store.commit_texts([replace(text, profile=profile, filter_memory=memory)], [], sequence)
    [before] = (await read_profile(service, ANN)).filter_memory
    assert before.text == rule.text
    await service.engine.init()
    assert not (await read_profile(service, ANN)).filter_memory
    as_of = pb.AsOf(sequence=sequence)
    [then] = (await read_profile(service, ANN, as_of=as_of)).filter_memory
    assert then == before
    async with start_page(service.address) as page:
        shown = read_text(await page.get("/client?kind=user&id=ann"))
    assert rule.text not in shown
