# Every target works with GNU make 3.81 and BSD tools. CI runs these same targets.

GO            ?= go
GOLANGCI_LINT := $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
VERSION       ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS       := -s -w -X github.com/agent-helm/agent-helm/internal/buildinfo.version=$(VERSION)
FUZZTIME      ?= 30s
CHAOS_FAULTS  ?= 1000

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: run
run: ## Build everything and start a private server, daemon, shell and demo agent (PHONE=1: on the LAN)
	@sh scripts/run

.PHONY: build
build: web ## Build both binaries into bin/
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/agent-helm ./daemon/cmd/agent-helm
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/agent-helm-server ./server/cmd/agent-helm-server

.PHONY: web
web: web/node_modules/.installed ## Build the PWA into web/dist
	cd web && npm run build

web/node_modules/.installed: web/package.json web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	@touch $@

.PHONY: test
test: ## Everything: installs what the tests need, vet, lint, race tests, vitest, browser
	@sh scripts/test

.PHONY: check
check: web/node_modules/.installed ## The inner loop: format, vet, lint, architecture, unit tests, vitest
	@sh scripts/check

.PHONY: lint
lint: ## Run the linters alone
	$(GOLANGCI_LINT) run ./...
	cd web && npm run lint

.PHONY: vuln
vuln: ## Look up known faults in the modules we link, offline
	@sh scripts/vuln

.PHONY: fmt
fmt: ## Format Go, TypeScript, Vue and CSS
	gofmt -w $$(git ls-files '*.go')
	cd web && npm run format

.PHONY: generate
generate: ## Regenerate the OpenAPI document and its TypeScript types
	@sh scripts/generate

.PHONY: fuzz
fuzz: web/node_modules/.installed ## Compare 10,000 random streams with xterm.js, then run every fuzz target for FUZZTIME (30s) each
	@FUZZTIME=$(FUZZTIME) sh scripts/fuzz

.PHONY: chaos
chaos: ## Play CHAOS_FAULTS (1000) faults and a 300 MB flood against the real binaries; prints the ledger
	AGENT_HELM_CHAOS_FAULTS=$(CHAOS_FAULTS) AGENT_HELM_FLOOD=300 $(GO) test -count=1 -timeout 60m -run '^(TestChaos|TestLongCut|TestSession_flood)$$' -v ./internal/e2e

.PHONY: bench
bench: ## Measure speed and memory beside bare floors and installed peers; writes docs/PERFORMANCE.md
	@sh scripts/bench

.PHONY: bench-full
bench-full: ## The same with 1,000 viewers and more rounds
	@BENCH_FULL=1 sh scripts/bench

.PHONY: clean
clean: ## Remove what was built; never touches .run
	rm -rf bin dist bench-out web/dist/assets
