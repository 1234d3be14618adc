"""The command that a report gives for a case: pasted into a shell, it replays the case under the run's conditions."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from html import unescape

import pytest

from evalkit.app.demo.server import ScriptedModel, serving
from tests.demo import TARGET
from tests.project import REPOSITORY, Project

PROMPT = 'You handle refunds.\nDon\'t say "no"; cost < $5 & 100%, C:\\new.\n\tLook up first.'
SUITES = {
    "exact": "seed = 3\n",
    "simulation": 'mode = "simulation"\nfaults = [{ tool = "refund_*", kind = "timeout" }]\n',
    "prompt-swap": f'mode = "prompt-swap"\n[model]\nbase_url = "BASE_URL"\nsystem_prompt = {json.dumps(PROMPT)}\n',
}


def pasted(command: str, project: Project) -> subprocess.CompletedProcess[str]:
    """What a shell makes of it."""
    shell = f'evalkit() {{ "{sys.executable}" -m evalkit "$@"; }}\n{command} --json'
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(["bash", "-c", shell], cwd=project.root, env=environment, capture_output=True, text=True)


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
@pytest.mark.parametrize("mode", SUITES)
def test_the_command_works_when_it_is_pasted(project: Project, case_id: str, mode: str) -> None:
    """Also with a seed, with faults, and with a system prompt of several lines with quotes in it."""
    with serving(ScriptedModel(0.0, seed=1)) as base_url:
        suite = f'target = "{TARGET}"\nsamples = 2\n' + SUITES[mode].replace("BASE_URL", base_url)
        project.write("suites/s.toml", suite)
        done = project.run("run", "suites/s.toml", "--out", "r", "-n", "1", "--reason", "a test")
        assert done.code in (0, 1, 3), done.err
        page = (project.root / "r" / "report.html").read_text("utf-8")
        found = re.search(r"<code>(evalkit replay [^<]*)</code>", page)
        assert found is not None
        replayed = pasted(unescape(found[1]), project)
    assert replayed.returncode in (0, 1, 3), replayed.stderr
    manifests = [one["manifest"] for one in json.loads(replayed.stdout)]
    assert {manifest["mode"] for manifest in manifests} == {mode}
    if mode == "prompt-swap":
        assert manifests[0]["overrides"]["system_prompt"] == PROMPT
