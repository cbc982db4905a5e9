# The commands of the house. Each is a few lines; what they do is in webui/demo/ and tests/.
#   make demo               serve on 127.0.0.1, train the sample model; Ctrl-C stops the site, never a training
#   make demo ONCE=1        the same, then wait for the training, print its result and leave
#   make demo ARGS="--host 0.0.0.0 --port 9000"      any option of `manage.py demo`
#   make stop               stop the trainings that go on without the site
#   make test               style, types and every test
SH = sh
PYTHON = .venv/bin/python
BOOTSTRAP = python=$$($(SH) webui/demo/python.sh) && "$$python" webui/demo/bootstrap.py

.PHONY: demo stop test lint clean

demo:
	@$(BOOTSTRAP) web && exec $(PYTHON) manage.py demo $(if $(filter-out 0,$(ONCE)),--once) $(ARGS)

stop:
	@$(BOOTSTRAP) web && exec $(PYTHON) manage.py demo --stop-jobs

test:
	@$(BOOTSTRAP) web tests engine && exec $(PYTHON) tests/run_all.py $(ARGS)

lint:
	@$(BOOTSTRAP) web tests engine && $(PYTHON) -m ruff check . && $(PYTHON) -m ruff format --check . && TRAINYARD_DEBUG=on $(PYTHON) -m mypy

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "Kept: var (database, runs, datasets, models). Remove it by hand if nothing in it is needed."
