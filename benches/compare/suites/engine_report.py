"""How the engines' drivers report their times and results to compare.py."""
import json
import os
import time


def report(runs, work, before=lambda: None):
    """Runs `work` a few times; `before` is not timed."""
    seconds, answer = [], 0.0
    for _ in range(runs):
        before()
        start = time.perf_counter()
        answer = work()
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds, "answer": float(answer or 0.0)}))


def sized(full, tiny):
    """A size of the data: `tiny` where the drivers are only tried, with compare.py --tiny."""
    return tiny if "COMPARE_TINY" in os.environ else full
