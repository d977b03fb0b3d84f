# Everything needs Go alone (and git, for the tests that look at the tree); race needs a
# C compiler too.

export CGO_ENABLED ?= 0
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X github.com/isotope-agent/isotope/internal/cli.version=$(VERSION)
RELEASE  := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
CROSS    := linux/arm64 darwin/arm64 windows/amd64
FUZZTIME ?= 5s
BENCH    ?= .
TOOL     := go tool -modfile=tools/go.mod

.PHONY: build test race lint tidy fuzz bench golden cross ci release-check

build: ## the binary, ./isotope
	go build -trimpath -ldflags '$(LDFLAGS)' ./cmd/isotope

test:
	go test ./...

# The JavaScript engine is Go code of its own and ten times slower under the detector:
# of its host the tests of dialogs and tools are run, which cross all its goroutines.
race: ## skipped, loudly, where there is no C compiler
	@if command -v "$$(go env CC)" >/dev/null; then \
	  echo 'go test -race'; export CGO_ENABLED=1; \
	  go test -race $$(go list ./... | grep -v '/internal/ext\(/js\)\?$$') && \
	  go test -race -run 'Dialog|Tool' ./internal/ext; \
	else echo 'race: SKIPPED, no C compiler'; fi

lint:
	go vet ./...
	@out=$$($(TOOL) gofumpt -l .); if [ -n "$$out" ]; then echo 'gofumpt would change:'; echo "$$out"; exit 1; fi
	$(TOOL) staticcheck ./...

tidy: ## the module files are what go mod tidy makes them
	go mod tidy -diff
	cd tools && go mod tidy -diff

fuzz: ## each fuzz target for FUZZTIME
	@set -e; for pkg in $$(go list ./...); do for f in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	  go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$pkg; done; done

bench: ## BENCH=pattern
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./...

golden: ## write golden files anew; review the diff
	UPDATE_GOLDEN=1 go test ./internal/llm/...
	@set -e; for dir in $$(grep -rl --include='*_test.go' 'flag.Bool("update"' internal cmd | xargs -n1 dirname | sort -u); do \
	  go test ./$$dir -update; done

cross: ## the program and its tests, compiled and linked for other systems
	@set -e; for t in $(CROSS); do echo "cross $$t"; export GOOS=$${t%/*} GOARCH=$${t#*/}; \
	  go build -o /dev/null ./cmd/isotope; go test -vet=off -exec true -run '^$$' ./... >/dev/null; done

ci: tidy lint test race cross

release-check: ## all six release binaries, in dist/
	@set -e; for t in $(RELEASE); do os=$${t%/*}; arch=$${t#*/}; ext=; [ $$os = windows ] && ext=.exe; \
	  GOOS=$$os GOARCH=$$arch go build -trimpath -ldflags '$(LDFLAGS)' -o dist/isotope-$$os-$$arch$$ext ./cmd/isotope; \
	  wc -c dist/isotope-$$os-$$arch$$ext; done
