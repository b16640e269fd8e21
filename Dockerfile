# redargue's command line with its models: docker build -t redargue . && docker run --rm redargue check "Bees are insects."
FROM python:3.13-slim AS build
# Parts and extras: docker build --build-arg PARTS="reader serve scale[postgres]" --build-arg EXTRAS=otel -t redargue .
ARG PARTS="reader"
ARG EXTRAS=""
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE NOTICE ./
COPY src ./src
COPY packages ./packages
RUN python -m venv /opt/redargue \
    && set -- ".${EXTRAS:+[$EXTRAS]}" \
    && for part in $PARTS; do set -- "$@" "./packages/redargue-$part"; done \
    && /opt/redargue/bin/pip install --no-cache-dir --no-compile -c constraints.txt "$@"

FROM python:3.13-slim
COPY --from=build /opt/redargue /opt/redargue
COPY --from=build /source/packages/healthcheck.py /opt/redargue/
ENV PATH=/opt/redargue/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    REDARGUE_HOME=/data
# Runs, corpora and the evidence memory; the rest of the file system can be read-only.
RUN mkdir /data && chown 65532:65532 /data
VOLUME /data
WORKDIR /data
USER 65532:65532
HEALTHCHECK --interval=60s --timeout=20s --start-period=10s \
    CMD ["python", "/opt/redargue/healthcheck.py"]
ENTRYPOINT ["redargue"]
CMD ["--help"]
