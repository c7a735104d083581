# The dependencies that a service needs, by hash, in a layer of their own that a change of the
# sources keeps. pip compiles bytecode now, as the final image is read-only: without it, every start
# would take three seconds longer.
FROM python:3.11-slim AS build
WORKDIR /src
COPY requirements-service.lock ./
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --require-hashes -r requirements-service.lock
COPY pyproject.toml README.md ./
COPY propagation propagation
COPY services services
COPY cypher cypher
RUN /venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation . \
    && /venv/bin/pip uninstall --yes pip setuptools

FROM python:3.11-slim
RUN useradd --system --uid 10001 --create-home propagation && mkdir /data && chown propagation /data
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH NUMBA_CACHE_DIR=/home/propagation/.cache PYTHONDONTWRITEBYTECODE=1
USER propagation
WORKDIR /data
RUN python -m services.runtime.kernel_cache
EXPOSE 50051 9464
VOLUME ["/data"]
HEALTHCHECK --interval=10s --timeout=5s --start-period=90s CMD ["propagation", "health"]
ENTRYPOINT ["propagation"]
CMD ["serve"]
