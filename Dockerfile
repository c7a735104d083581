# The dependencies that a service needs, by hash, in a layer of their own that a change of the
# sources keeps. pip compiles bytecode now, as the final image is read-only: without it, every start
# would take three seconds longer.
ARG PYTHON=python:3.11.16-slim-trixie@sha256:1042b61448fef4ba92d16a8c7eb4996d027568ce64792a7877fd88511e0af7c6
FROM ${PYTHON} AS build
WORKDIR /src
COPY requirements-service.lock ./
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --require-hashes -r requirements-service.lock
COPY pyproject.toml README.md ./
COPY client client
COPY propagation_client propagation_client
COPY propagation propagation
COPY services services
COPY cypher cypher
RUN /venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation ./client . \
    && /venv/bin/pip uninstall --yes pip setuptools

FROM ${PYTHON}
RUN useradd --system --uid 10001 --create-home propagation && mkdir /data && chown propagation /data
COPY --from=build /venv /venv
# The kernels are compiled here, once, for any processor of this architecture: compiled for the
# builder's own, each start on another one would compile them again, for minutes.
ENV PATH=/venv/bin:$PATH NUMBA_CPU_NAME=generic NUMBA_CACHE_DIR=/home/propagation/.cache PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /data
RUN python -m services.runtime.kernel_cache
EXPOSE 50051 9464
VOLUME ["/data"]
HEALTHCHECK --interval=10s --timeout=5s --start-period=90s CMD ["propagation", "health"]
ENTRYPOINT ["propagation"]
CMD ["serve"]
