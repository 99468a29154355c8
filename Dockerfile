# docker build --tag bayplan:0.1.0 .
# A plugin that needs more than this image has: FROM bayplan:0.1.0, USER 0, pip install it, USER 65532.
ARG PYTHON=3.11

# The full image has the C compiler that makes the busiest modules machine code.
FROM python:${PYTHON} AS build
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE NOTICE ./
COPY tools/compiled_build.py tools/
COPY src src
# The versions that the tests run with; byte code now, because the root will be read-only.
RUN python -m venv /opt/bayplan \
 && BAYPLAN_COMPILE=1 /opt/bayplan/bin/pip install --no-cache-dir --constraint constraints.txt . \
 && /opt/bayplan/bin/python -m compileall -q /opt/bayplan/lib

FROM python:${PYTHON}-slim
COPY --from=build /opt/bayplan /opt/bayplan
ENV PATH=/opt/bayplan/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# A user without a name or rights; nothing outside /tmp is written.
USER 65532:65532
EXPOSE 10259
ENTRYPOINT ["bayplan"]
CMD ["run"]
