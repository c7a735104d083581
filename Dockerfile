FROM python:3.11-slim AS build
WORKDIR /src
COPY requirements.lock ./
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY pyproject.toml README.md ./
COPY propagation propagation
COPY services services
RUN /venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.11-slim
RUN useradd --system --uid 10001 --create-home propagation && mkdir /data && chown propagation /data
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH NUMBA_CACHE_DIR=/home/propagation/.cache
USER propagation
RUN python -m services.warm
EXPOSE 50051
ENTRYPOINT ["propagation"]
