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
# How many seeds a simulated scenario runs: in `make test`, in `make test-quick`, in `make soak`.
SEEDS ?= 28
QUICK_SEEDS ?= 10
SOAK_SEEDS ?= 5000

# One build serves development, the demo and the tests. Its modules are optimised: see Package.swift.
DEBUG := .build/debug
# What `make demo` builds in a fresh clone.
DEMO := .build/demo/debug
RELEASE := .build/release
# Swift's runtime is linked into the programs, so that an installed one needs no toolchain. No RUNPATH: a library beside
# a program is not loaded.
# A build in another directory gives the same bytes: no debug information, which `install -s` would remove, no name of
# the checkout, and no hash of each module, in which its path counts.
RELEASE_FLAGS := -c release --static-swift-stdlib --disable-local-rpath -Xswiftc -gnone -Xcc -g0 \
  -Xswiftc -file-prefix-map -Xswiftc $(CURDIR)=. -Xcc -ffile-prefix-map=$(CURDIR)=. \
  -Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen
PROGRAMS := lanyard lanyard-cli lanyard-agent lanyard-demo lanyard-export lanyard-mcp lanyard-proxy
# The names by which tools look for a credential helper, as links to lanyard. `keyring` is not among them: it would take
# the place of Python's own.
HELPERS := git-credential-lanyard docker-credential-lanyard cargo-credential-lanyard terraform-credentials-lanyard \
  bazel-credential-lanyard
SWIFT_SOURCES := Sources Tests Clients/swift

UNITTEST := PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m unittest
# One test after the other: a test that waits on a real socket must not starve beside a simulation.
SWIFT_TEST := $(SWIFT) test $(SWIFT_FLAGS) --no-parallel

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo fleet build-demo demo-is-built build test test-quick soak bare-machine replay lint check-schemas test-swift test-swift-quick test-python test-clients test-client-faults \
  test-cli test-integration test-integration-a-l test-integration-m-z real-provider test-real test-fuzz test-demo bench bench-clients packages packages-tests packages-clients packages-deb deb test-deb packages-desktop test-desktop test-mcp test-proxy test-fleet packages-fleet bench-mcp build-tests release is-built \
  format schemas install uninstall clean

help: ## List the targets.
	@awk -F ':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

##@ First

# A checkout that can't be written, by its owner's wish or for another user, shows what was built before. One in which
# everything was built shows that.
demo: $(if $(shell [ -w .build ] || { [ ! -e .build ] && [ -w . ]; } && echo yes),$(if $(wildcard $(DEBUG)/lanyard-demo),build,build-demo),demo-is-built) ## Build what it takes, and see Lanyard at work with a practice provider on this machine.
	@$(firstword $(wildcard $(DEBUG)/lanyard-demo) $(DEMO)/lanyard-demo)

# The programs that the demo shows, and neither optimised nor with what a debugger reads: the build takes a quarter of the time.
build-demo: packages
	LANYARD_PROGRAMS_ONLY=demo LANYARD_UNOPTIMIZED=1 $(SWIFT) build --scratch-path $(dir $(DEMO)) --disable-index-store -Xswiftc -gnone $(SWIFT_FLAGS)

demo-is-built:
	@[ -x $(DEBUG)/lanyard-demo ] || [ -x $(DEMO)/lanyard-demo ] || { \
	  echo 'lanyard: $(CURDIR) can not be written, so nothing can be built there. Copy it to a folder of yours.' >&2; \
	  exit 1; \
	}
	@echo 'lanyard: $(CURDIR) can not be written, so the demo runs as it was built before.' >&2

build: packages ## Build all programs, for development.
	$(SWIFT) build $(SWIFT_FLAGS)

##@ Tests

test: packages-tests packages-clients packages-desktop packages-fleet ## Run every test: all that CI runs, in less than half an hour.
	@LANYARD_SEEDS=$${LANYARD_SEEDS:-$$(.ci/seeds $(SEEDS))} $(PYTHON) .ci/test all

test-quick: packages-tests ## Run what takes three minutes: few seeds, each transcript once, no walk of all states.
	@LANYARD_SEEDS=$${LANYARD_SEEDS:-$$(.ci/seeds $(QUICK_SEEDS))} $(PYTHON) .ci/test quick

# Before a release, or over a night: `make soak SOAK_SEEDS=100000`.
soak: build-tests real-provider ## Run thousands of seeds, every kill point, planted faults, the Debian packages, and the README's commands on a bare machine.
	LANYARD_SEEDS=$${LANYARD_SEEDS:-$$(.ci/seeds $(SOAK_SEEDS))} $(SWIFT_TEST) --skip-build --filter SimulationTests
	LANYARD_KILLS=all $(MAKE) --no-print-directory test-integration
	$(MAKE) --no-print-directory test-client-faults
	$(MAKE) --no-print-directory test-deb
	.ci/bare-machine

bare-machine: ## A part of soak: `make demo` and `make test` on a bare Debian (root, debootstrap).
	.ci/bare-machine

replay: build-tests ## Run one test with one seed, as in `make replay TEST=SimulationTests.ChaosTests SEED=17`.
	LANYARD_SEED=$(SEED) $(SWIFT_TEST) --skip-build --filter '$(TEST)'

fleet: packages ## Simulate ten thousand agents and their provider: a table, and the pictures of docs/fleet.md.
	$(SWIFT) build $(SWIFT_FLAGS) --product lanyard-fleet
	$(DEBUG)/lanyard-fleet --out docs/fleet $(FLEET_FLAGS)

##@ Parts of `make test`, each of which can be made alone

lint: packages-tests ## Check the format of the Swift sources, and what documents and code say of other files.
	$(SWIFT) format lint --strict --parallel --recursive $(SWIFT_SOURCES)
	.ci/check-links
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) .ci/test_check_links.py

check-schemas: build-tests ## Check that what is generated agrees with Schemas/.
	$(DEBUG)/lanyard-schemas check

test-swift: build-tests ## Unit tests, simulation, transcripts.
	LANYARD_SEEDS=$${LANYARD_SEEDS:-$$(.ci/seeds $(SEEDS))} $(SWIFT_TEST) --skip-build

# What it skips walks every state of a machine, every byte of a text or a signature, or kills processes at every write.
test-swift-quick: build-tests
	LANYARD_SEEDS=$${LANYARD_SEEDS:-$$(.ci/seeds $(QUICK_SEEDS))} LANYARD_TRANSCRIPT_COMBINATIONS=1 \
	  $(SWIFT_TEST) --skip-build \
	  --skip 'StateDiagramTests|TransactionCrashTests|RefreshCrashTests|UTF8Tests|SignatureTests'

test-python: build-tests real-provider ## The Python client, by itself and with the real agent.
	cd Clients/python && PYTHONPATH=src LANYARD_AGENT=$(abspath $(DEBUG))/lanyard-agent \
	  LANYARD_DEMO=$(abspath $(DEBUG))/lanyard-demo $(UNITTEST) discover

# Every client passes the same cases.
test-clients: build-tests packages-clients real-provider ## The clients of all languages: conformance, the real agent, their own tests.
	Clients/conformance/run --require --agent $(DEBUG)
	Clients/conformance/run --require --own-tests $(DEBUG)

test-client-faults: build-tests packages-clients real-provider ## A part of soak: each fault that is planted in a client makes a case fail.
	Clients/conformance/run --require --faults

test-cli: build-tests ## The command line.
	LANYARD_BIN=$(abspath $(DEBUG)) PYTHONPATH=Clients/python/src $(UNITTEST) discover -s Tests/Programs/CLITests

# Without a package index its tests say that they skip, unless LANYARD_REQUIRE_REAL=1 (.ci/run) asks for them.
real-provider: packages-tests
	@Tests/Programs/RealProvider/install || [ $$? -eq 75 -a "$${LANYARD_REQUIRE_REAL:-0}" != 1 ]

test-integration: test-integration-a-l test-integration-m-z ## The running programs, attacked from outside, and with a real provider.

# Two halves of the files, since most of these tests wait: `.ci/test` runs both at once.
test-integration-a-l: build-tests
	LANYARD_BIN=$(abspath $(DEBUG)) $(UNITTEST) discover -s Tests/Programs/Integration -p 'test_[a-l]*.py'

test-integration-m-z: build-tests real-provider
	LANYARD_BIN=$(abspath $(DEBUG)) $(UNITTEST) discover -s Tests/Programs/Integration -p 'test_[m-z]*.py'

test-real: build-tests real-provider ## A part of test-integration: the agent with a provider that others wrote.
	LANYARD_BIN=$(abspath $(DEBUG)) $(UNITTEST) discover -s Tests/Programs/Integration -p test_real_provider.py

test-desktop: build-tests packages-desktop ## The tools themselves: registries, kubectl, pip, mail programs, clouds, ssh.
	LANYARD_BIN=$(abspath $(DEBUG)) $(UNITTEST) discover -s Tests/Programs/Desktop

# Without a package index the tests with servers that others wrote say that they skip, as `real-provider` above. Two halves at
# once, since they wait for most of their time.
test-mcp: build-tests ## `lanyard mcp`: the scenarios of the conformance suite, kills, secrecy, real servers and clients.
	@export LANYARD_BIN=$(abspath $(DEBUG)); \
	  $(UNITTEST) discover -s Tests/Programs/MCP -p 'test_[a-m]*.py' & half=$$!; \
	  $(UNITTEST) discover -s Tests/Programs/MCP -p 'test_[n-z]*.py'; status=$$?; \
	  wait $$half && exit $$status

test-proxy: build-tests packages-clients packages-desktop ## The proxy with curl, git, pip, Node.js and Python behind it, and raw bytes at it.
	LANYARD_BIN=$(abspath $(DEBUG)) $(UNITTEST) discover -s Tests/Programs/Proxy

test-fleet: build-tests packages-fleet ## What joins agents to an organisation: its metrics server and its log collectors, with real parts.
	@export LANYARD_BIN=$(abspath $(DEBUG)); \
	  $(UNITTEST) discover -s Tests/Programs/Fleet -p 'test_[ae]*.py' & half=$$!; \
	  $(UNITTEST) discover -s Tests/Programs/Fleet -p 'test_[!ae]*.py'; status=$$?; \
	  wait $$half && exit $$status

test-fuzz: packages ## A short run of the fuzzers.
	@if [ -x Tests/Fuzz/run ]; then Tests/Fuzz/run $(FUZZ_SECONDS); else echo 'no fuzzers here'; fi

test-demo: release packages-tests ## The demo with the installed programs, how these are linked, and what a request costs.
	rm -rf .build/installed
	$(MAKE) --no-print-directory install PREFIX=$(abspath .build/installed) DESTDIR=
	.build/installed/bin/lanyard demo < /dev/null
	LANYARD_INSTALLED=$(abspath .build/installed) $(UNITTEST) discover -s Tests/Programs/Installed

test-deb: deb ## The Debian packages: lintian, two builds, and machines where they come and go (root, debootstrap).
	LANYARD_DEBS=$(abspath .build/deb) $(UNITTEST) -v Tests/Programs/Installed/test_packages.py

bench: release packages-tests ## Not a test: measure the agent beside a C echo server and ssh-agent.
	$(PYTHON) Tests/Bench/bench.py --agent $(RELEASE)/lanyard-agent --demo $(RELEASE)/lanyard-demo \
	  --cli $(RELEASE)/lanyard $(BENCH_FLAGS)

bench-clients: release packages-clients ## Not a test: calls a second of each client, beside one in C.
	Clients/conformance/run --bench $(RELEASE)

bench-mcp: release packages-tests ## Not a test: `lanyard mcp` beside other bridges: the time of a call, memory, start.
	Tests/Programs/MCP/install rivals
	$(PYTHON) Tests/Bench/mcp.py --bin $(RELEASE) $(BENCH_FLAGS)

##@ Upkeep

# `.ci/test` has built everything before, and sets BUILT.
ifdef BUILT
packages packages-tests packages-clients packages-desktop packages-fleet packages-deb:
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

packages-desktop: packages-tests ## Install the tools of the desktop that the tests use and that are missing.
	@.ci/packages desktop

packages-fleet: packages-tests ## Install what an organisation runs, as far as the tests use it and it is missing.
	@.ci/packages fleet

# A module may import only what Package.swift lists for it: by itself SwiftPM takes what another target has built.
build-tests: packages-tests ## Build all programs and the tests.
	$(SWIFT) build $(SWIFT_FLAGS) --explicit-target-dependency-import-check error --build-tests

# Without the library a link that leads nowhere: the linker then takes the shared one.
release: packages ## Build the programs as they are installed.
	@mkdir -p .build/static-c++
	@ln -sf "$$(cc -print-file-name=libstdc++.a)" .build/static-c++/libstdc++.a
	LANYARD_PROGRAMS_ONLY=1 LANYARD_STATIC_PIE=1 LANYARD_STATIC_CXX=$(CURDIR)/.build/static-c++ \
	  $(SWIFT) build $(RELEASE_FLAGS) $(SWIFT_FLAGS)
endif

format: ## Format the Swift sources.
	$(SWIFT) format --in-place --parallel --recursive $(SWIFT_SOURCES)

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
	  $(RELEASE)/lanyard-proxy $(LIBEXEC)
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
	install -m 644 .packaging/systemd/sandbox.conf $(SHARE)/lanyard/systemd
	install -m 644 Clients/python/src/lanyard/*.py Clients/python/src/lanyard/py.typed $(SHARE)/lanyard/python/lanyard
	install -m 644 Clients/python/src/lanyard/auth/*.py $(SHARE)/lanyard/python/lanyard/auth

deb: release packages-deb ## Build the Debian packages, into .build/deb: docs/packages.md.
	.packaging/debian/build

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
