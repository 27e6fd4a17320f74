"""Runs the cases and tells their outcomes."""

import concurrent.futures
import time
import traceback

from failures import CaseFailed, Skipped
from trial import Trial

SHOWN_OF_STDERR = 2000


class Result:
    """The outcomes of one language."""

    def __init__(self, language):
        self.language = language
        self.passed, self.skipped = [], []
        self.failures = {}
        self.seconds = 0.0
        self.with_agent = None

    def groups(self):
        """For each concern (cases passed, cases in all); None where the language does not take part."""
        groups = {}
        for name in self.passed + list(self.failures):
            group = name.split(":")[0]
            passed, total = groups.get(group, (0, 0))
            groups[group] = (passed + (name not in self.failures), total + 1)
        return groups


def run_case(language, case):
    """Nothing if the case passes, else the text of its failure. Raises `Skipped`."""
    trial = Trial(language)
    try:
        case.body(trial)
        return None
    except Skipped:
        raise
    except CaseFailed as failure:
        return str(failure) + said_by(trial)
    except Exception:
        return traceback.format_exc(limit=-3) + said_by(trial)
    finally:
        trial.close()


def said_by(trial):
    try:
        with open(trial.log, encoding="utf-8", errors="replace") as log:
            text = log.read().strip()
    except FileNotFoundError:
        text = ""
    return f"\n    the driver said: {text[-SHOWN_OF_STDERR:]}" if text else ""


def outcomes(language, cases, jobs):
    """(case, failure or None or Skipped) for each case that the language takes part in, as they end."""
    taking_part = [case for case in cases if case.needs <= language.does]

    def one(case):
        try:
            return case, run_case(language, case)
        except Skipped as skipped:
            return case, skipped

    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    try:
        for finished in concurrent.futures.as_completed([pool.submit(one, case) for case in taking_part]):
            yield finished.result()
    finally:
        pool.shutdown(cancel_futures=True)


def judged(languages, cases, jobs, say):
    results = []
    for language in languages:
        result = Result(language)
        began = time.monotonic()
        for case, failure in outcomes(language, cases, jobs):
            if failure is None:
                result.passed.append(case.name)
            elif isinstance(failure, Skipped):
                result.skipped.append(case.name)
                say(f"{language.title}: skipped: {case.name}: {failure}")
            else:
                result.failures[case.name] = failure
                say(f"{language.title}: FAILED: {case.name}\n    {failure}")
        result.seconds = time.monotonic() - began
        say(f"{language.title}: {len(result.passed)} passed, {len(result.failures)} failed in {result.seconds:.0f} s")
        results.append(result)
    return results


def rows(results, missing):
    groups = []
    for result in results:
        groups += [group for group in result.groups() if group not in (*groups, "real agent")]
    groups.sort()
    with_agent = any(result.with_agent is not None for result in results)
    yield ["client", *groups, *(["real agent"] if with_agent else [])]
    for result in results:
        counted = result.groups()
        cells = []
        for group in groups:
            passed, total = counted.get(group, (0, 0))
            cells.append("–" if total == 0 else str(total) if passed == total else f"{passed}/{total} FAILED")
        if with_agent:
            cells.append(result.with_agent or "–")
        yield [result.language.title, *cells]
    for folder, why in missing.items():
        yield [folder] + [""] * (len(groups) + with_agent - 1) + [f"left out: {why}"]


def table(results, missing):
    lines = list(rows(results, missing))
    whole = [line for line in lines if not line[-1].startswith("left out")]
    width = [max((len(line[column]) for line in whole), default=0) for column in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(size) for cell, size in zip(line, width)).rstrip() for line in lines)


def markdown(results, missing):
    lines = list(rows(results, missing))
    text = ["| " + " | ".join(line) + " |" for line in lines]
    text.insert(1, "|" + "---|" * len(lines[0]))
    return "\n".join(text) + "\n"
