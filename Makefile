# make demo and make test are all that is needed; the other targets are slower suites with tools of their own.
.PHONY: demo test help release wheel python-test setup tools lint docs bench fuzz crash hostile limits interop

CARGO ?= cargo
GOLDEN = $(CURDIR)/target/golden.txt

demo: tools ## build tess for development and walk through a sample of each format
	$(CARGO) run -p tess -- demo target/demo --force
	@echo "This was a development build; 'make release' builds the fast one."

test: tools lint docs ## every check and every test
	@mkdir -p target && rm -f $(GOLDEN)
	@tools/stage "tests"
	$(CARGO) build --quiet --examples
	TESSELLE_GOLDEN=$(GOLDEN) $(CARGO) test --quiet --lib --bins --tests
	@echo "Golden files compared: $$(sort -u $(GOLDEN) | cut -d' ' -f1 | uniq -c | awk '{ printf "%s%s %d", sep, $$2, $$1; sep = ", " }')"
	@tools/stage "examples in the documentation"
	$(CARGO) test --quiet --doc

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

release: tools ## the optimized, stripped binary: target/dist/tess
	$(CARGO) build --profile dist -p tess

wheel: tools ## the Python package: target/wheels/tesselle-*.whl
	tools/python-wheel

python-test: wheel ## the wheel in a new environment, with its test dependencies from the package index
	tools/python-test

setup: ## install what a build needs, asking before each step
	tools/setup

tools:
	@tools/setup --check

lint:
	@tools/stage "lint"
	$(CARGO) fmt --all --check
	$(CARGO) clippy --all-targets --quiet -- -D warnings

docs:
	@tools/stage "docs"
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --quiet

bench: ## side by side with the original engines: benches/compare/README.md
	benches/compare/run.sh

fuzz: ## FUZZ_SECONDS per target, needs cargo-fuzz: fuzz/README.md
	fuzz/run.sh

crash: ## every command that writes, killed and interrupted before every change that it makes on the disk
	TESSELLE_THOROUGH=1 $(CARGO) test -p tess --test crash

hostile: ## every small golden file cut at every offset and flipped ten thousand times, in an optimized build
	$(CARGO) test --release -p tesselle-tet --test it corrupt:: -- --ignored

limits: ## every command that works on many rows, on four million of them with 8 MiB, in an optimized build
	$(CARGO) test --release -p tess --test it limits:: -- --ignored

interop: ## live round trips with the original engines: interop/README.md
	interop/run.sh
