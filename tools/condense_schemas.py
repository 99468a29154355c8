"""Kubernetes' published schemas as the embedded API server reads them: the definitions of one release, compressed.

    python tools/condense_schemas.py v1.36.4

Go downloads that version of the module k8s.io/kubernetes, which contains the OpenAPI document of its API server.
The definitions in it are taken as they are, descriptions included; the paths, two thirds of the document, are not.
The result is src/bayplan/apiserver/schema/definitions-1.36.json.gz, the same bytes every time.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

MODULE = "k8s.io/kubernetes"
DOCUMENT = "api/openapi-spec/swagger.json"
TARGET = Path(__file__).parents[1] / "src/bayplan/apiserver/schema"


def main(version: str) -> None:
    document = json.loads(Path(_module_folder(version), DOCUMENT).read_text())
    condensed = {
        "source": f"{DOCUMENT} of {MODULE} {version}",
        "license": "Apache-2.0, Copyright The Kubernetes Authors",
        "definitions": document["definitions"],
    }
    text = json.dumps(condensed, separators=(",", ":"), ensure_ascii=False).encode()
    release = ".".join(version.removeprefix("v").split(".")[:2])
    target = TARGET / f"definitions-{release}.json.gz"
    # Without a time in it, so that it only differs if the definitions do.
    target.write_bytes(gzip.compress(text, compresslevel=9, mtime=0))
    print(f"{target.name}: {len(document['definitions'])} definitions, {target.stat().st_size} bytes")


def _module_folder(version: str) -> str:
    command = ["go", "mod", "download", "-json", f"{MODULE}@{version}"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    answer = json.loads(result.stdout or "{}")
    if "Dir" not in answer:
        sys.exit(f"{' '.join(command)}: {answer.get('Error') or result.stderr}")
    return str(answer["Dir"])


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].startswith("v"):
        sys.exit("usage: python tools/condense_schemas.py v1.36.4")
    main(sys.argv[1])
