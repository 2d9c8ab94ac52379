"""The last lines of a container that ended: what went wrong, and not the native stack below it."""

from heliostat.cli.run_failure import pick_lines

RAY = """\
[2026-11-17 20:20:00,123 E 7 7] redis_context.cc:1: Failed to connect to Redis at redis:6379
*** StackTrace Information ***
/usr/lib/libpython3.11.so.1.0(_PyEval_EvalFrameDefault+0x3598) [0x7fb6b92fe108] _PyEval_EvalFrameDefault
/lib/x86_64-linux-gnu/libc.so.6(+0x2724a) [0x7fb6b904524a]

"""


def test_frames_of_a_native_stack_do_not_hide_what_went_wrong() -> None:
    assert pick_lines(RAY) == [
        "[2026-11-17 20:20:00,123 E 7 7] redis_context.cc:1: Failed to connect to Redis at redis:6379"
    ]


def test_only_the_last_lines_are_shown() -> None:
    assert pick_lines("\n".join(f"line {number}" for number in range(100))) == [f"line {n}" for n in range(80, 100)]
