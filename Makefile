# Everything starts here: `make demo` and `make test` need Python >= 3.11 and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
READY := $(VENV)/.ready
COMPILED := $(VENV)/.compiled
BUF_VERSION := 1.75.0
BUF := $(VENV)/buf-$(BUF_VERSION)/node_modules/.bin/buf
BASELINES := propagation/laboratory/baselines/requirements.lock
BASELINES_TORCH := propagation/laboratory/baselines/requirements-torch.lock
DATA ?=
LLM ?=
ONCE ?=
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# uv takes a fifth of pip's time. But it reads no settings of pip, which may name the only index that is reached from here.
install = $(BIN)/uv pip install --quiet --python $(BIN)/python $(1) || { echo "uv failed, so pip installs."; $(PIP) $(1); }
# Every target starts several processes; without kept bytecode each of them compiles all that it imports, for seconds.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup baselines baselines-torch demo test test-slow test-neo4j test-model test-model-lab test-browser picture lint types types-of-tests imports proto proto-check wheels test-versions bench bench-short bench-life bench-life-short up down lock clean bench-llm bench-neo4j docs containers secrets

help:  ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: $(READY)  ## the virtual environment, from the lock

# What the service and its demo need; nobody who only looks waits for the developers' tools. The two distributions
# share `propagation`, so they are installed as paths: the import hooks of both would make it a namespace package.
$(RUNS): requirements-uv.lock requirements-service.lock pyproject.toml client/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; this is $$($(PYTHON) --version). Name one: make PYTHON=python3.12 ..."; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@$(PIP) --require-hashes -r requirements-uv.lock || echo "uv could not be installed; pip takes longer."
	@$(call install,--require-hashes -r requirements-service.lock)
	@$(call install,--no-deps --no-build-isolation --config-settings editable_mode=compat --editable ./client --editable .)
	@touch $(RUNS)

$(READY): $(RUNS) requirements.lock
	@$(call install,--require-hashes -r requirements.lock)
	@touch $(READY)

# Bytecode of all that is installed, on all cores, for what starts processes all the time. The demo compiles only what it imports.
$(COMPILED): $(READY)
	@$(BIN)/python -m compileall -q -j 0 $(VENV)/lib > /dev/null || true
	@touch $(COMPILED)

demo: $(RUNS)  ## a real service, a dataset, what propagation does, and its web page until Ctrl-C (DATA=folder for your own, LLM=fake for a scripted language model, ONCE=1 to end by itself)
	@exec $(BIN)/propagation demo $(if $(DATA),--data "$(DATA)") $(if $(LLM),--llm "$(LLM)") $(if $(ONCE),--once)

test: $(COMPILED)  ## the fast tests
	$(BIN)/python -m services.runtime.kernel_cache service evaluation
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile
	@$(BIN)/python -m tests.neo4j_server.build

baselines: $(VENV)/baselines/.ready  ## the laboratory's baselines, in an environment of their own

baselines-torch: $(VENV)/baselines-torch/.ready  ## SASRec, GRU4Rec and Caser, which need torch (5.8 GB on Linux, as torch brings CUDA there)

$(VENV)/baselines/.ready: $(BASELINES)
$(VENV)/baselines-torch/.ready: $(BASELINES_TORCH)
$(VENV)/baselines/.ready $(VENV)/baselines-torch/.ready: | $(RUNS)
	$(PYTHON) -m venv --clear $(@D)
	@$(BIN)/uv pip install --quiet --python $(@D)/bin/python --require-hashes -r $< || \
		$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

test-versions: $(READY)  ## the fast tests on the oldest and on the newest Python that is found here, but for that of .venv
	$(BIN)/python -m tests.versions

test-slow: $(COMPILED) baselines  ## the marked ones: crashes, whole replays, the demo
	$(BIN)/python -m services.runtime.kernel_cache service evaluation
	$(BIN)/python -m pytest -m "slow and not alone" --numprocesses 3 --dist loadfile --durations 20
	$(BIN)/python -m pytest -m "slow and alone" --durations 20

test-neo4j: $(COMPILED)  ## the graph store on a real Neo4j, which it starts itself (Java 17 and Maven)
	$(BIN)/python -m services.runtime.kernel_cache service evaluation
	$(BIN)/python -m pytest -m "neo4j and not slow" --numprocesses 3 --dist loadfile --durations 20

test-model: $(COMPILED)  ## the service with a small language model, which it installs beside this environment
	$(BIN)/python -m services.runtime.kernel_cache service
	$(BIN)/python -m tests.model

test-model-lab: $(COMPILED)  ## an experiment of each paper with the small language model; CI does not run it
	$(BIN)/python -m services.runtime.kernel_cache service evaluation
	$(BIN)/python -m tests.model laboratory

test-browser: $(COMPILED)  ## the web page of the demo's town in Chromium, which it installs where it can
	$(BIN)/python -m services.runtime.kernel_cache service
	$(BIN)/python -m tests.browser

picture: $(COMPILED)  ## docs/page.png, the web page of the demo's town, with which the README opens (Chromium)
	$(BIN)/python -m services.runtime.kernel_cache service
	$(BIN)/python -m tests.browser.picture

lint: $(READY)  ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) types-of-tests  ## mypy, strict; of the tests, what their calls pass
	$(BIN)/mypy

types-of-tests: $(READY)
	$(BIN)/mypy --config-file tests/calls.ini

imports: $(READY)  ## imports run one way
	$(BIN)/lint-imports

wheels: $(READY)  ## the wheels of the client and of the service, in build/wheels: each is installed alone and tried
	$(BIN)/python -m tests.wheels

containers: $(READY)  ## docker-compose.yml as Docker Compose reads it, and the Dockerfile's linter; neither needs a Docker engine
	$(BIN)/hadolint Dockerfile
	$(BIN)/docker-compose --profile '*' config --quiet

docs: $(READY)  ## the documentation as a site, in build/docs; a broken link is an error
	$(BIN)/sphinx-build -W --keep-going -n -q -b html docs build/docs

proto: $(READY)  ## generate propagation/v1 from proto/
	$(BIN)/python -m proto.generate

proto-check: $(READY) $(BUF)  ## the proto is commented, generated code is current, and nothing breaks the last release
	$(BUF) lint proto
	$(BIN)/python -m proto.check

# The linter of the proto comes from npm, in the version pinned above.
$(BUF):
	@command -v npm > /dev/null || { echo "The proto's linter needs npm, which comes with Node.js."; exit 2; }
	npm install --silent --no-save --no-audit --no-fund --prefix $(VENV)/buf-$(BUF_VERSION) @bufbuild/buf@$(BUF_VERSION)

bench: $(COMPILED)  ## every figure of the README (ONLY=group for one group)
	$(BIN)/python -m benchmarks $(if $(ONLY),--only $(ONLY))

bench-short: $(COMPILED)  ## the same programs for a few seconds each: they work, the figures mean nothing
	$(BIN)/python -m benchmarks --short

bench-llm: $(COMPILED)  ## what a language model costs, against a scripted server (CDS=folder)
	$(BIN)/python -m benchmarks --llm $(if $(CDS),--cds "$(CDS)")

bench-life: $(COMPILED)  ## what a service that lives is judged by: evolution, erasure, back-up, size, half an hour of soak (ONLY=group)
	$(BIN)/python -m benchmarks --life $(if $(ONLY),--only $(ONLY))

bench-neo4j: $(COMPILED)  ## the service on a Neo4j server, which is started here (Java 17 and Maven; ONLY=group)
	$(BIN)/python -m benchmarks --neo4j $(if $(ONLY),--only $(ONLY))

bench-life-short: $(COMPILED)  ## the same programs for a few seconds each
	$(BIN)/python -m benchmarks --life --short

up: secrets  ## what docker-compose.yml holds
	docker compose up --detach --build --wait

# The passwords of docker-compose.yml, and a folder for each container that has more. Only this user gets
# into secrets/; the files below it are readable, because the containers run as other users.
secrets: secrets/passwords/propagation.toml secrets/prometheus/clients.pem secrets/service/health.token secrets/prometheus/prometheus.token  ## passwords, tokens and key pairs of the containers, made once

secrets/passwords/propagation.toml:
	@mkdir -p -m 700 secrets && mkdir -p -m 755 $(@D)
	@neo4j=$$(openssl rand -hex 24); qdrant=$$(openssl rand -hex 24); cd $(@D); \
		openssl rand -hex 24 > grafana; \
		echo "neo4j/$$neo4j" > neo4j; \
		printf 'service:\n  api_key: %s\n' $$qdrant > qdrant.yaml; \
		printf '[neo4j]\npassword = "%s"\n[qdrant]\napi_key = "%s"\n' $$neo4j $$qdrant > $(@F)
	@chmod 644 $(@D)/*

# Each shows its own certificate, which the other trusts.
secrets/prometheus/clients.pem: PAIR = openssl req -x509 -newkey rsa:3072 -nodes -days 3650 2> /dev/null
secrets/prometheus/clients.pem:
	@mkdir -p -m 700 secrets && mkdir -p -m 755 $(@D) secrets/grafana
	$(PAIR) -subj /CN=prometheus -addext subjectAltName=DNS:prometheus,IP:127.0.0.1 -keyout $(@D)/prometheus.key -out $(@D)/prometheus.pem
	$(PAIR) -subj /CN=grafana -keyout secrets/grafana/grafana.key -out secrets/grafana/grafana.pem
	cp $(@D)/prometheus.pem secrets/grafana/
	cat $(@D)/prometheus.pem secrets/grafana/grafana.pem > $@
	@chmod 644 $(@D)/* secrets/grafana/*

secrets/service/health.token secrets/prometheus/prometheus.token: | $(RUNS)
	@mkdir -p -m 700 secrets && mkdir -p -m 755 secrets/service $(@D)
	$(BIN)/propagation token new $(basename $(@F)) --role read --tokens secrets/service/tokens > $@
	@chmod 644 $@ secrets/service/tokens

down:  ## stop it; volumes stay
	docker compose --profile '*' down

lock: $(READY)  ## requirements.lock (all), requirements-service.lock (the image), requirements-uv.lock from pyproject.toml; tests/model/requirements.lock; the baselines' lock
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
		--no-emit-package preference-propagation-client --all-extras pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
		--no-emit-package preference-propagation-client --extra image --constraint requirements.lock pyproject.toml -o requirements-service.lock
	echo uv | $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
		--constraint requirements.lock - -o requirements-uv.lock
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
		--no-deps tests/model/requirements.in -o tests/model/requirements.lock
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
		propagation/laboratory/baselines/requirements.in -o $(BASELINES)
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
		propagation/laboratory/baselines/requirements-torch.in -o $(BASELINES_TORCH)

clean:  ## everything that was made here
	rm -rf $(VENV) .cache demo-out build dist *.egg-info client/build client/*.egg-info
