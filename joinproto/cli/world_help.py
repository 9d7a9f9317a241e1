"""`joinproto check WORLD --help`: the command's help, then that world's parameters."""

from __future__ import annotations

import click

from joinproto.check.parameters import parameters_of
from joinproto.errors import JoinprotoError


class WorldCommand(click.Command):
    """A command that takes a world; `COMMAND WORLD --help` also lists that world's parameters."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the world for the help, because click shows the help before it reads arguments."""
        try:
            given, _, _ = self.make_parser(ctx).parse_args(list(args))
        except click.NoSuchOption as error:
            name = error.option_name.lstrip("-").replace("-", "_")
            hint = f"; a parameter of a world's function is set by --set {name}=VALUE"
            raise click.UsageError(error.format_message().rstrip(".") + hint, ctx) from None
        ctx.meta["world"] = given.get("target")
        return super().parse_args(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help; if the world cannot be read, the error comes first."""
        target = ctx.meta.get("world")
        if isinstance(target, str):
            try:
                rows = list(parameters_of(target)) or [("none", "it is one fixed world")]
            except JoinprotoError as problem:
                formatter.write_text(f"{target}: {problem.message}")
                formatter.write_text(f"next: {problem.next}")
                formatter.write_paragraph()
            else:
                ctx.meta["parameters"] = rows
        super().format_help(ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, and the world's parameters."""
        super().format_options(ctx, formatter)
        if "parameters" in ctx.meta:
            with formatter.section(f"Parameters of {ctx.meta['world']}"):
                formatter.write_dl(ctx.meta["parameters"])
