.DEFAULT_GOAL := help
.PHONY: help build test test-go test-node test-client test-kit test-signer test-ledger-node check-workers test-python test-all test-race nightly test-workers batches simulate model explore explore-pairs mutants mutants-sample kills webhooks prices bench bench-provers bench-failover demo e2e e2e-proofs e2e-proofs-ci e2e-width
.PHONY: client lint lint-all size codes packages tutorial site screenshots trace-picture fuzz setup release images test-release test-release-quick test-upgrade

FUZZTIME ?= 30s
SEEDS ?= 2000
FIRST ?= 1
KILLS ?= 200
WEBHOOKS ?= 100000
STATES ?= 2000000
MODEL ?= 3000
SAMPLE ?= 400

# No test is judged by the clock: this is only for one that hangs for good.
FOREVER = -timeout 3h

help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-18s %s\n", $$1, $$2 }'

build: ## Build bin/sequencer
	go build -trimpath -o bin/sequencer ./cmd/sequencer

# PKG narrows what follows a change: make test-go PKG=./sequencer/lifecycle
PKG ?= ./...

test: setup test-go test-node test-python ## Run the tests that show each promise once, with all the set-up they need: minutes

test-go: ## Of these what is in Go, or in the packages PKG alone
	go test -shuffle=on $(FOREVER) $(PKG)

test-node: test-client test-signer test-kit ## Of these the TypeScript client, the signer and the kit, without proofs

test-client: clients/typescript/node_modules
	cd clients/typescript && npm run check && npm test

test-kit: workers/node_modules
	cd workers && npm run test -w kit

test-signer: workers/node_modules
	cd workers && npm run test -w signer

test-ledger-node: workers/node_modules
	cd workers && npm run test -w ledger-node

check-workers: workers/node_modules ## Check types, format and style of all that is in workers
	cd workers && node check-lock.js && npm run check

test-python: ## Of these the Python client, against the built program
	cd clients/python && python3 generate.py --check && python3 -m unittest discover -s tests -t .

test-all: setup ## Run what make test runs, and what shows it again, with the race detector and without
	TEST_LANE=all go test -shuffle=on $(FOREVER) $(PKG)
	$(MAKE) --no-print-directory test-race
	cd queues && go test $(FOREVER) -run '^TestModel$$/^miniredis$$' -model.seeds=150

test-race: setup ## Run the tests of what runs beside other things under the race detector
	go test -race -shuffle=on $(FOREVER) $(RACED)

# What has goroutines of its own. What stands above it is the wiring.
RACED ?= ./api/... ./dispatcher/... ./ledger/... ./metrics/... ./mina/... ./queues ./senders/... ./sequencer ./sequencer/webhooks

nightly: setup lint-all ## Run everything: all linters and tests, all worlds and crash points, seeds, kills, mutants, webhooks, a release
	TEST_LANE=nightly go test -shuffle=on $(FOREVER) ./...
	TEST_LANE=nightly go test ./sequencer $(FOREVER) -run '^TestCrashPoints$$' -crash.every 1
	go test -run '^$$' -bench . -benchtime 1x $(FOREVER) ./...
	go run ./scripts/bench -quick
	go test ./sequencer/test/explorer $(FOREVER) -run '^TestMistakes$$' -v -mistakes .
	$(MAKE) --no-print-directory test-race model explore-pairs simulate kills webhooks test-workers tutorial test-release mutants

test-workers: ## Run everything that tests the o1js side, end to end too, proofs off
	scripts/test-workers.sh

batches: build ## Post what Sawtooth's own SDK makes to the simulated ledgers
	cd scripts/sawtooth-batches && npm ci && npm test

simulate: ## Simulate the service against SEEDS seeds of faults, default 2000
	cd sequencer/test/simulation && GOGC=400 go test -run '^TestSimulation$$' -timeout 24h -sim.seeds=$(SEEDS) -sim.first=$(FIRST)

model: ## Hold the store against its model, over MODEL seeds of random operations
	cd queues && go test -run '^TestModel$$/^miniredis$$' -timeout 24h -model.seeds=$(MODEL)

explore: ## Explore larger worlds of the decisions, up to STATES states of each
	go test ./sequencer/test/explorer -run '^TestWorlds$$' -timeout 24h -v -wide -batch 2000 -bound $(STATES)

explore-pairs: ## Explore the decisions on two or three of a queue in flight, or on two processes, to the end, twenty minutes
	go test ./sequencer/test/explorer -run '^TestWorlds$$' -timeout 24h -v -pairs -batch 2000

mutants: setup ## Make every small mistake in turn, and see that a test notices it
	nice go run ./scripts/mutants

mutants-sample: ## Make a sample of them in the decisions, and those of files that the last tag has otherwise
	@since=$$(git describe --tags --abbrev=0 2>/dev/null); \
	[ -n "$$since" ] || echo "no tag is here, as in a shallow clone: of changed files only the sample is tried" >&2; \
	go run ./scripts/mutants -only '^sequencer/(explain|lifecycle|tx|fees)/' -sample $(SAMPLE) -seed 1 $${since:+-changed "$$since"} -budget 3m

kills: setup ## Kill running processes at KILLS random moments, default 200; half as many each of provers, signers and sequencers
	go test ./cmd/sequencer/test/processes -run 'TestProcesses/(KilledAtRandom|PoolKilled)' -v -timeout 24h -kills=$(KILLS) -kills.pool=$$(($(KILLS)/2))

webhooks: setup ## Deliver WEBHOOKS events, default 100000, to an endpoint in trouble
	TEST_LANE=all go test ./cmd/sequencer/test/processes -run TestWebhookProcesses -v -timeout 2h -webhooks=$(WEBHOOKS)

bench-failover: setup ## Measure how long after Redis dies the next attempt is planned and sent, ten times in each of four set-ups
	TEST_LANE=nightly go test ./cmd/sequencer/test/processes -run '^TestFailOverTimes$$' -v $(FOREVER) -failovers 10

prices: ## Show what fees by the market buy on simulated days, beside constant ones
	go test ./mina/devnet -run '^TestPrices$$' -v

bench: setup ## Measure throughput and memory
	go run ./scripts/bench

bench-provers: setup ## Measure of this what a pool of 1,000 provers costs serve, beside one of 10 and full workers
	go run ./scripts/bench -run '^11-'

demo: ## Run everything embedded, with a voting round to look at
	go run ./cmd/sequencer demo

e2e: ## Run voting rounds on real contracts, workers and Mina's ledger, proofs off
	@$(MAKE) --no-print-directory e2e-run PROOFS=off

e2e-proofs: ## The same with real proofs, which takes many minutes
	@$(MAKE) --no-print-directory e2e-run PROOFS=on

e2e-proofs-ci: setup build workers/node_modules ## One round of all voting types with real proofs, in minutes
	cd workers && npm run build && npm run e2e:proofs -w voting

e2e-width: setup build workers/node_modules ## Count the blocks that 48 votes of a claim take, of width 12 and 1
	cd workers && npm run build && npm run width -w voting

.PHONY: e2e-run
e2e-run: setup build workers/node_modules
	cd workers && npm run build && E2E_PROOFS=$(PROOFS) npm run e2e -w voting

workers/node_modules: workers/package-lock.json
	cd workers && npm ci
	@touch $@

clients/typescript/node_modules: clients/typescript/package-lock.json
	cd clients/typescript && npm ci
	@touch $@

packages: workers/node_modules clients/typescript/node_modules ## Pack what is for npm and not published: kit, signer, local node, client
	cd workers && npm run build -w signer -w kit -w ledger-node
	cd clients/typescript && npm run build
	mkdir -p dist/npm
	cd workers && npm pack --silent -w signer -w kit -w ledger-node --pack-destination ../dist/npm
	cd clients/typescript && npm pack --silent --pack-destination ../../dist/npm

tutorial: setup ## Run docs/tutorial.md: its files and its commands, as they stand there
	python3 scripts/tutorial/run.py

client: setup ## Check the TypeScript client, and test it against the built program
	cd clients/typescript && npm ci && npm run check && npm test

lint: ## Run gofmt, vet and staticcheck
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "not formatted:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	go tool -modfile=scripts/tools/go.mod staticcheck ./...

lint-all: lint ## Run all linters of .golangci.yaml too, which take seven minutes to build
	go tool -modfile=scripts/tools/go.mod golangci-lint run

size: ## Count lines and branches of the core, beside those of the checkout BEFORE if there is one
	cd scripts/tools && go test ./... && go run ./size $(CURDIR) $(BEFORE)

codes: ## Write docs/codes.md from its table
	go run ./scripts/codes >docs/codes.md

scripts/site/node_modules: scripts/site/package-lock.json
	cd scripts/site && npm ci
	@touch $@

site: scripts/site/node_modules ## Build the documentation as a site with search, in scripts/site/dist
	cd scripts/site && npm run build

screenshots: setup ## Take the pictures of the dashboard in docs/dashboard
	TEST_LANE=all go test ./cmd/sequencer/test/browser -run '^TestBrowser$$/^pictures$$' -pictures $(CURDIR)/docs/dashboard

trace-picture: setup ## Draw a trace of a transaction that is tried again into docs/traces
	go test ./cmd/sequencer/test/processes -count=1 -run '^TestProcesses$$/^Traced$$' -traces $(CURDIR)/docs/traces/spans.json
	go run ./scripts/tracepicture <docs/traces/spans.json >docs/traces/trace.svg && rm docs/traces/spans.json

fuzz: ## Run every fuzz target for FUZZTIME, default 30s
	scripts/fuzz.sh $(FUZZTIME)

setup: ## Install what the tests need: redis-server, databases, prometheus, haproxy, Python, a C compiler and a browser
	scripts/setup.sh

release: ## Build all that is given to others, VERSION=1.2.3, from its clean tag
	cd scripts/release && go run . build --version "$(VERSION)" --repo ../.. --out ../../dist

images: ## The same from the commit that is checked out, for this machine alone
	cd scripts/release && go run . build --snapshot --repo ../.. --out ../../dist \
		--only linux_$$(go env GOHOSTARCH),$$(go env GOHOSTOS)_$$(go env GOHOSTARCH)

test-release: setup ## Build a release, install and run all of it; needs root
	scripts/release/setup.sh
	cd scripts/release && go vet ./... && go test -count=1 -timeout 25m ./...

test-release-quick: ## Test how a release is made, without making one
	scripts/release/setup.sh gpg
	cd scripts/release && go test -short . ./chartcheck

test-upgrade: setup ## Run the commit OLD and this one side by side on one Redis, both ways
	cd scripts/release && go test -count=1 -timeout 25m -v -run '^TestUpgrade$$' . -old "$(OLD)"
