#!/usr/bin/python3
"""Holds zones and windows against Python's zoneinfo: every zone of the machine, the change nights
of ten years.

    zone_check.py ZONE_PROBE
"""
import bisect
import datetime
import os
import subprocess
import sys
import zoneinfo

DIRECTORY = "/usr/share/zoneinfo"
UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1)
FIRST_YEAR, LAST_YEAR = 2026, 2035
WINDOWS = [(22 * 60, 7 * 60), (90, 150), (2 * 60 + 30, 2 * 60), (0, 24 * 60)]
MINUTES_AROUND = [-180, -90, -61, -60, -31, -1, 0, 1, 30, 59, 60, 61, 119, 120, 180]


def offset_at(zone, instant):
    return int(datetime.datetime.fromtimestamp(instant, UTC).astimezone(zone).utcoffset()
               .total_seconds())


def change_instants(zone):
    """Instants at which the offset changes, found by halving between noon and noon."""
    begin = int(datetime.datetime(FIRST_YEAR, 1, 1, 12, tzinfo=UTC).timestamp())
    end = int(datetime.datetime(LAST_YEAR + 1, 1, 1, 12, tzinfo=UTC).timestamp())
    step = 3 * 86400
    changes = []
    before = offset_at(zone, begin)
    for at in range(begin, end, step):
        after = offset_at(zone, at + step)
        if after != before:
            low, high = at, at + step
            while high - low > 1:
                middle = (low + high) // 2
                if offset_at(zone, middle) == before:
                    low = middle
                else:
                    high = middle
            changes.append((high, before))
        before = after
    return changes


def resolve(zone, local, last):
    """The instant of local seconds, by zoneinfo: fold tells the two of a time that occurs twice;
    one that is left out moves forward when read with the offset before the gap (fold 0)."""
    wall = EPOCH + datetime.timedelta(seconds=local)
    first = wall.replace(tzinfo=zone, fold=0)
    instant = int(first.timestamp())
    back = datetime.datetime.fromtimestamp(instant, UTC).astimezone(zone).replace(tzinfo=None)
    if back != wall or not last:
        return instant
    return int(wall.replace(tzinfo=zone, fold=1).timestamp())


def openings(zone, window, at):
    start, end = window
    today = (at + offset_at(zone, at)) // 86400
    for day in range(today - 2, today + 4):
        close_day = day + 1 if end <= start else day
        opens = resolve(zone, day * 86400 + start * 60, False)
        closes = resolve(zone, close_day * 86400 + end * 60, True)
        if closes <= opens:  # the start was left out, the end was not: all of it moves
            closes = opens + (close_day - day) * 86400 + (end - start) * 60
        yield opens, closes


def window_answer(zone, window, at):
    if window == (0, 24 * 60):
        never = 2 ** 63 - 1
        return f"{never} {never}"
    spans = sorted(openings(zone, window, at))
    merged = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    starts = [start for start, _ in merged]
    place = bisect.bisect_right(starts, at) - 1
    following = starts[place + 1]
    if place >= 0 and at < merged[place][1]:
        return f"{merged[place][1]} {following}"
    return f"- {following}"


def questions_of(name):
    zone = zoneinfo.ZoneInfo(name)
    yield f"Z {name}", None
    for change, offset_before in change_instants(zone):
        for minutes in MINUTES_AROUND:
            local = change + offset_before + minutes * 60
            wanted = f"{resolve(zone, local, False)} {resolve(zone, local, True)}"
            yield f"L {local}", wanted
        for window in WINDOWS:
            for hours in (-20, -1, 0, 1, 4, 20):
                at = change + hours * 3600
                yield f"W {window[0]} {window[1]} {at}", window_answer(zone, window, at)


def different_zones():
    """Each zone of the database under its first name; the rest are links and copies."""
    seen = {}
    for name in sorted(zoneinfo.available_timezones() - {"localtime"}):
        with open(os.path.join(DIRECTORY, name), "rb") as file:
            seen.setdefault(file.read(), name)
    return sorted(seen.values())


def main():
    names = different_zones()
    pairs = [pair for name in names for pair in questions_of(name)]
    lines = "".join(question + "\n" for question, _ in pairs)
    probe = subprocess.run([sys.argv[1]], input=lines, capture_output=True, text=True, check=False)
    wanted = [(question, answer) for question, answer in pairs if answer is not None]
    found = probe.stdout.splitlines()
    if probe.returncode != 0 or len(found) != len(wanted):
        sys.exit(f"the probe ended with {probe.returncode} after {len(found)} of {len(wanted)} "
                 f"answers: {probe.stderr}")
    zone = None
    n_wrong = 0
    answers = iter(found)
    for question, answer in pairs:
        if answer is None:
            zone = question
            continue
        got = next(answers)
        if got != answer:
            n_wrong += 1
            if n_wrong <= 10:
                print(f"{zone}, {question}: {got}, zoneinfo says {answer}")
    n_changes = sum(1 for question, _ in wanted if question.startswith("L")) // len(MINUTES_AROUND)
    print(f"{len(names)} zones, {n_changes} changes, {len(wanted)} answers, {n_wrong} wrong")
    sys.exit(1 if n_wrong > 0 or n_changes < 1000 else 0)


main()
