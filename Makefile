.DEFAULT_GOAL := help
.PHONY: help build test simulate bench demo lint fuzz setup

FUZZTIME ?= 30s
SEEDS ?= 2000

help: ## Show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-8s %s\n", $$1, $$2 }'

build: ## Build bin/sequencer
	go build -trimpath -o bin/sequencer ./cmd/sequencer

test: setup ## Run all tests, with all the set-up they need
	go vet ./...
	go test -race -shuffle=on -timeout 10m ./...

simulate: ## Simulate the service against SEEDS seeds of faults, default 2000
	cd sequencer && go test -run TestSimulation -timeout 24h -sim.seeds=$(SEEDS)

bench: setup ## Measure throughput and memory
	go run ./scripts/bench

demo: ## Run everything embedded, with a voting round to look at
	go run ./cmd/sequencer demo

lint: ## Check formatting, vet and staticcheck, and golangci-lint where it is installed
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "not formatted:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	go tool staticcheck ./...
	@if command -v golangci-lint >/dev/null; then golangci-lint run; else echo "golangci-lint is not installed: skipped"; fi

fuzz: ## Run every fuzz target for FUZZTIME, default 30s
	scripts/fuzz.sh $(FUZZTIME)

setup: ## Install what the tests need: redis-server and a C compiler
	scripts/setup.sh
