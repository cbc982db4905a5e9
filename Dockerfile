# The image of web, worker and reconciler. No container engine has built it on the machine where it was written;
# tests/test_compose.py checks what can be checked without one.
#   docker build --build-arg ENGINE=cpu .        engine: cpu, cuda, npu, or none for a node that only serves pages
FROM python:3.11.13-slim-bookworm AS base
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN groupadd --gid 10001 trainyard && useradd --uid 10001 --gid trainyard --create-home trainyard
WORKDIR /app
COPY requirements.txt ./
RUN pip install -r requirements.txt

FROM base AS site
ARG ENGINE=cpu
# Where a plain CPU build of torch comes from; empty: nowhere but pip's own index.
ARG TORCH_INDEX=
COPY engine/requirements-common.txt engine/requirements-cpu.txt engine/requirements-cuda.txt engine/requirements-npu.txt engine/
RUN if [ "$ENGINE" != none ]; then \
        pip install ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} -r "engine/requirements-$ENGINE.txt"; \
    fi
COPY LICENSE manage.py pyproject.toml ./
COPY engine engine
COPY jobs jobs
COPY static static
COPY webui webui
# A new volume takes these folders over, with their owner.
RUN mkdir -p /data/datasets /data/models /data/runs /data/run && chown -R trainyard:trainyard /data
USER trainyard
ENV TRAINYARD_DATA_DIR=/data
VOLUME /data
EXPOSE 8000
CMD ["python", "-m", "uvicorn", "webui.asgi:application", "--host", "0.0.0.0", "--port", "8000", \
     "--ws", "websockets-sansio", "--lifespan", "off", "--timeout-graceful-shutdown", "3", "--no-access-log", "--no-proxy-headers"]
