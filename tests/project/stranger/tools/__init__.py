"""The project's own package."""


def names(count: int) -> list[str]:
    return [f"m{number}" for number in range(1, count + 1)]
