.DEFAULT_GOAL := help
.PHONY: help build test test-workers simulate mistakes kills bench demo e2e e2e-proofs client lint screenshots fuzz setup

FUZZTIME ?= 30s
SEEDS ?= 2000
FIRST ?= 1
KILLS ?= 200

help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-12s %s\n", $$1, $$2 }'

build: ## Build bin/sequencer
	go build -trimpath -o bin/sequencer ./cmd/sequencer

test: setup ## Run all tests, with all the set-up they need
	go vet ./...
	go test -race -shuffle=on -timeout 25m ./...
	go test -shuffle=on -timeout 25m ./sequencer # all worlds and crash points

test-workers: ## Run everything that tests the o1js side, end to end too, proofs off
	scripts/test-workers.sh

simulate: ## Simulate the service against SEEDS seeds of faults, default 2000
	cd sequencer && go test -run '^TestSimulation$$' -timeout 24h -sim.seeds=$(SEEDS) -sim.first=$(FIRST)

mistakes: ## Plant each known mistake in turn, and see that the simulation finds it
	cd sequencer && go test -run '^TestMistakes$$' -timeout 24h -v -sim.mistakes=.

kills: setup ## Kill running processes at KILLS random moments, default 200
	go test ./cmd/sequencer -run TestProcesses/KilledAtRandom -v -timeout 24h -kills=$(KILLS)

bench: setup ## Measure throughput and memory
	go run ./scripts/bench

demo: ## Run everything embedded, with a voting round to look at
	go run ./cmd/sequencer demo

e2e: ## Run voting rounds on real contracts, workers and Mina's ledger, proofs off
	@$(MAKE) --no-print-directory e2e-run PROOFS=off

e2e-proofs: ## The same with real proofs, which takes many minutes
	@$(MAKE) --no-print-directory e2e-run PROOFS=on

.PHONY: e2e-run
e2e-run: setup build workers/node_modules
	cd workers && npm run build && E2E_PROOFS=$(PROOFS) npm run e2e -w voting

workers/node_modules: workers/package-lock.json
	cd workers && npm ci
	@touch $@

client: setup ## Check the TypeScript client, and test it against the built program
	cd clients/typescript && npm ci && npm run check && npm test

lint: ## Run gofmt and the linters of .golangci.yaml, vet and staticcheck among them
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "not formatted:"; echo "$$unformatted"; exit 1; }
	go tool -modfile=scripts/tools/go.mod golangci-lint run

screenshots: setup ## Take the pictures of the dashboard in docs/dashboard
	go test ./cmd/sequencer -run '^TestBrowser$$/^pictures$$' -pictures $(CURDIR)/docs/dashboard

fuzz: ## Run every fuzz target for FUZZTIME, default 30s
	scripts/fuzz.sh $(FUZZTIME)

setup: ## Install what the tests need: redis-server, prometheus, a C compiler and a browser
	scripts/setup.sh
