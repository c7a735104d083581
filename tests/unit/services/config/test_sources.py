"""Settings: precedence, presets, and errors that name key, value, limit and source."""

from typing import get_args

import pytest

from services.config.settings import Settings
from services.config.sources import (
    Entry,
    LoadedSettings,
    SettingsError,
    SettingSource,
    SourceKind,
    find_lines,
    list_setting_fields,
    load_settings,
    name_variable,
    parse_assignments,
)
from services.config.units import UNITS

STORES = [repr(name) for name in get_args(Settings.model_fields["store"].annotation)]


@pytest.fixture
def load(tmp_path):
    def run(toml="", environment=None, flags=None):
        path = tmp_path / "propagation.toml"
        path.write_text(toml)
        return load_settings(path, environment or {}, parse_assignments(flags or []))

    return run


def test_untouched_settings_have_the_source_default(load):
    assert set(load().sources.values()) == {SettingSource(SourceKind.DEFAULT)}


def test_a_later_source_wins_and_is_named(load):
    toml, environment = (
        "taste.k = 10\nsession.k = 10\nseed = 10",
        {"PROPAGATION_TASTE__K": "20", "PROPAGATION_SEED": "20"},
    )
    loaded = load(toml, environment, ["seed=30"])
    workflow = loaded.settings.workflow
    assert (workflow.session.k, workflow.taste.k, workflow.seed) == (10, 20, 30)
    assert str(loaded.sources["session.k"]).endswith("propagation.toml, line 2")
    assert loaded.sources["taste.k"] == SettingSource(
        SourceKind.ENVIRONMENT, "PROPAGATION_TASTE__K"
    )
    assert str(loaded.sources["seed"]) == "flag --set"


def test_every_other_source_wins_over_a_preset(load):
    loaded = load('preset = "paper"', {"PROPAGATION_TASTE__K": "33"})
    assert loaded.settings.workflow.policy == "semantic"
    assert str(loaded.sources["policy"]) == "preset paper"
    assert loaded.settings.workflow.taste.k == 33


def test_a_preset_may_come_from_anywhere(load):
    assert load(flags=["preset=paper"]).settings.workflow.taste.k == 20
    assert load(environment={"PROPAGATION_PRESET": "paper"}).settings.workflow.taste.k == 20


def test_the_preset_of_small_models_sets_what_can_be_set_alone(load):
    asked = load(flags=["preset=small-model", "openai.context_tokens=1024"]).settings.openai
    assert (asked.fused, asked.clients_a_call, asked.edits) == (False, 1, 1)
    assert (asked.items, asked.attributes, asked.context_tokens) == ("titles", "known", 1_024)
    alone = load(flags=["openai.attributes=known"]).settings.openai
    assert (alone.attributes, alone.items, alone.edits) == ("known", "lines", 2)
    assert (asked.router_texts, alone.router_texts) == ("offline", "model")


@pytest.mark.parametrize(
    ("toml", "environment", "flags", "parts"),
    [
        ("", {}, ["tast.k=4"], ["tast.k", "--set", "did you mean taste.k?"]),
        ("", {}, ["schedule.wiping=never"], ["schedule.wiping", "1 fields", "or none for never"]),
        ("", {}, ["schedule.wiping=0 3 31 2 *"], ["never due", "or none for never"]),
        ("schedule.wiping = false", {}, [], ["schedule.wiping", "none switches it off"]),
        (
            "",
            {"PROPAGATION_SERVER__PROT": "1"},
            [],
            ["server.prot", "PROPAGATION_SERVER__PROT", "did you mean server.port?"],
        ),
        (
            "[schedule]\nevolve = 'none'",
            {},
            [],
            ["schedule.evolve", "propagation.toml", "did you mean schedule.evolution?"],
        ),
        (
            "",
            {"PROPAGATION_SERVER__PORT": "70000"},
            [],
            ["server.port", "'70000'", "PROPAGATION_SERVER__PORT", "65535"],
        ),
        ("[server]\nport = true", {}, [], ["server.port", "True", "propagation.toml"]),
        ("policy = 'magic'", {}, [], ["policy", "'magic'", "propagation.toml", "adoption"]),
        ("preset = 'pape'", {}, [], ["preset", "'pape'", "paper"]),
        ("", {}, ["openai.context_tokens=1023"], ["openai.context_tokens", "'1023'", "1024"]),
        ("", {}, ["openai.items=covers"], ["openai.items", "'covers'", "titles"]),
        ("taste = 3", {}, [], ["taste", "not a setting"]),
        ("taste.k = ", {}, [], ["propagation.toml", "not TOML"]),
        ("", {}, ["taste.k"], ["--set taste.k", "KEY=VALUE"]),
        ("", {}, ["taste.k=nan"], ["taste.k", "'nan'", "integer"]),
        ("", {"PROPAGATION_ROUND_INTERVAL": "inf"}, [], ["round_interval", "'inf'", "finite"]),
    ],
)
def test_errors_are_one_line_and_name_everything(load, toml, environment, flags, parts):
    with pytest.raises(SettingsError) as caught:
        load(toml, environment, flags)
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_a_named_file_must_exist(tmp_path):
    with pytest.raises(SettingsError, match=r"gone\.toml"):
        load_settings(tmp_path / "gone.toml", {}, {})


def test_an_optional_setting_can_be_taken_back(load):
    assert (
        load("update_size = 5", {"PROPAGATION_UPDATE_SIZE": "none"}).settings.workflow.update_size
        is None
    )


def test_every_key_leads_to_a_value_and_has_a_variable_of_its_own(load):
    for key, field in list_setting_fields().items():
        value = load().settings
        for name in field.path:
            value = getattr(value, name)
        assert key == key.lower(), "its variable in capitals leads back to it"
        assert "__" not in key, "in a variable two underscores are a dot"


def test_the_preset_and_every_setting_has_a_key_of_its_own():
    paths = [field.path for field in list_setting_fields().values()]
    assert len(set(paths)) == len(paths)
    assert "preset" not in list_setting_fields()


@pytest.mark.parametrize("key", ["qdrant.api_key", "neo4j.password"])
def test_secrets_are_masked(load, key):
    assert "hunter2" not in str(load(environment={name_variable(key): "hunter2"}).rows())


@pytest.mark.parametrize(
    "given",
    [
        "neo4j.password=hunter2",
        " qdrant.api_key =hunter2",
        "openai.base_url=http://me:hunter2@host/v1",
        "openai.base_url=http://me:hun/hunter2@host:1/",
        "openai.base_url=http://hunter2@host/v1",
        "qdrant.url=https://host/?api-key=hunter2",
        "qdrant.url=https://host/?sig=hunter2",
        "openai.base_url=https://host/v1#auth=hunter2",
    ],
)
def test_a_secret_on_the_command_line_is_refused_and_the_other_way_is_named(load, given):
    with pytest.raises(SettingsError, match="give it as the variable PROPAGATION_") as refused:
        load(flags=[given])
    assert "hunter2" not in str(refused.value)
    assert name_variable(given.partition("=")[0].strip()) in str(refused.value)


@pytest.mark.parametrize("key", ["sk-hunter2", "gsk_hunter2", "hunter2"])
def test_a_key_in_place_of_its_variable_is_refused_and_not_repeated(load, key):
    with pytest.raises(SettingsError, match=r"openai\.key_variable is a secret") as refused:
        load(environment={name_variable("openai.key_variable"): key})
    assert "hunter2" not in str(refused.value)


def test_a_secret_can_be_taken_back_on_the_command_line(load):
    environment = {"PROPAGATION_QDRANT__API_KEY": "hunter2"}
    assert (
        load(environment=environment, flags=["qdrant.api_key=none"]).settings.qdrant.api_key is None
    )


@pytest.mark.parametrize("key", ["schedule.evolution", "update_size"])
def test_none_in_a_file_takes_an_optional_setting_back(load, key):
    rows = {row_key: value for row_key, value, _ in load(f'{key} = "none"').rows()}
    assert rows[key] is None


def test_variables_that_are_no_settings_are_ignored(load):
    others = {"PATH": "x", "PROPAGATION_CONFIG": "y", "PROPAGATION_ADDRESS": "z"}
    assert load(environment=others).sources["seed"] == SettingSource(SourceKind.DEFAULT)


def test_flags_keep_the_type_of_their_value(load):
    loaded = load_settings(
        None, {}, {"server.port": Entry(0, SettingSource(SourceKind.FLAG, "--port"))}
    )
    assert loaded.settings.server.port == 0
    assert str(loaded.sources["server.port"]) == "flag --port"


def test_a_file_may_begin_with_a_byte_order_mark(load):
    assert load("\ufefftable_edges = 3").settings.workflow.table_edges == 3


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("http://me:se:cr@et@host:80/v1", "http://me:**********@host:80/v1"),
        ("https://hunter2@host/v1", "https://**********@host/v1"),
        ("https://host/v1?a=1&Api-Key=hunter2&b=2", "https://host/v1?a=1&Api-Key=**********&b=2"),
        ("https://host/v1?api-version=3", "https://host/v1?api-version=3"),
    ],
)
def test_a_secret_within_a_url_is_masked(url, masked):
    given = {"openai.base_url": Entry(url, SettingSource(SourceKind.ENVIRONMENT))}
    shown = {key: value for key, value, _ in load_settings(None, {}, given).rows()}
    assert shown["openai.base_url"] == masked


def test_the_buffer_in_force_is_shown_with_a_language_model(load):
    def read_buffer(*flags):
        return {key: value for key, value, _ in load(flags=flags).rows()}["buffer"]

    assert read_buffer() == 8
    assert read_buffer("reasoner=openai") == 3
    assert read_buffer("reasoner=openai", "buffer=5") == 5
    assert read_buffer("reasoner=openai", "taste.k=20") == 3


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("server.port=many", "must be a valid integer"),
        ("server.port=-1", "must be at least 0"),
        ("server.port=70000", "must be at most 65535"),
        ("store=paper", f"must be {', '.join(STORES[:-1])} or {STORES[-1]}"),
        (
            "schedule.time_zone=Mars/Base",
            "is not a time zone; give a name such as UTC or Europe/Berlin",
        ),
    ],
)
def test_a_refused_value_is_told_in_our_words(load, setting, problem):
    with pytest.raises(SettingsError) as refused:
        load(flags=(setting,))
    assert str(refused.value).endswith(f": {problem}")


@pytest.mark.parametrize(
    "uri", ["bolt://neo4j:hidden@127.0.0.1:7687", "127.0.0.1:7687", "http://127.0.0.1:7474"]
)
def test_an_impossible_neo4j_address_is_refused_without_its_password(uri):
    with pytest.raises(SettingsError, match=r"neo4j\.uri is .*: must match") as refused:
        load_settings(None, {"PROPAGATION_NEO4J__URI": uri}, {})
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize(
    "uri", ["bolt://[::1]:7687", "neo4j+s://graph.example", "neo4j://graph.example:7687/?policy=eu"]
)
def test_neo4j_addresses_are_accepted(uri):
    assert load_settings(None, {"PROPAGATION_NEO4J__URI": uri}, {}).settings.neo4j.uri == uri


def test_lines_are_those_of_the_file():
    text = """# taste.k = 1
taste.k = 10  # the routers
[server]
port = 1
tls.key = 'x'
limits = {calls_per_second = 2}
[ openai . budget ] # of money
"money_per_day" = 3
"""
    assert find_lines(text) == {
        "taste.k": 2,
        "server.port": 4,
        "server.tls.key": 5,
        "server.limits": 6,
        "openai.budget.money_per_day": 8,
    }


def test_a_key_that_seems_to_stand_twice_has_no_line():
    text = 'seed = 1\npolicy = """\nseed = 2\n"""'
    assert find_lines(text) == {"policy": 2}


def test_every_setting_is_described_and_no_secret_is_shown(load):
    loaded = load(
        'store = "neo4j"\n[neo4j]\npassword = "hunter2"\n[qdrant]\nurl = "https://u:hunter2@q:1"',
        {"PROPAGATION_TASTE__K": "20"},
        ["auto_create=true"],
    )
    described = {one.key: one for one in loaded.describe()}
    assert list(described) == list(loaded.sources)
    assert "hunter2" not in str(described)
    assert described["neo4j.password"].value == "set"
    assert described["qdrant.api_key"].value == "not set"
    assert described["neo4j.password"].source.line == 3
    assert described["taste.k"].value == "20"
    assert described["taste.k"].unit == "routers"
    assert described["auto_create"].value == "true"
    assert described["tau"].value is None
    assert all(one.meaning.endswith(".") for one in described.values())


def test_settings_of_a_program_say_so():
    loaded = LoadedSettings.of(Settings(store="neo4j"))
    assert loaded.sources["store"].kind is SourceKind.PROGRAM
    assert loaded.sources["index"].kind is SourceKind.DEFAULT


def test_every_number_has_a_unit():
    numbers = {
        key
        for key, field in list_setting_fields().items()
        if not {int, float}.isdisjoint(field.types)
    }
    assert UNITS.keys() == numbers
