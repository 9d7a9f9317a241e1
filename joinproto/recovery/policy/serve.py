"""Run a Python file with functions as a policy: `python serve.py FILE` answers line by line.

`python serve.py FILE --asks` prints a JSON list of the questions for which FILE has functions.

`choose_founder(facts)`, `may_i_start(facts)` and `may_i_remove(facts)` get the decoded JSON of a
question, and return the answer, a string.  If a function is missing, the policy does not know this
question.  Standard output is for the answers; output of the functions goes to standard error.
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path


def main() -> None:
    """Answer each line of standard input on standard output."""
    answers, sys.stdout = sys.stdout, sys.stderr
    path = Path(sys.argv[1])
    sys.path.insert(0, str(path.resolve().parent))
    held = runpy.run_path(str(path))
    asks = ("choose-founder", "may-i-start", "may-i-remove")
    functions = {ask: held[name] for ask in asks if (name := ask.replace("-", "_")) in held}
    if sys.argv[2:] == ["--asks"]:
        print(json.dumps(list(functions)), file=answers)
        return
    for line in sys.stdin:
        facts = json.loads(line)
        function = functions.get(facts["ask"])
        answer = None if function is None else function(facts)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
