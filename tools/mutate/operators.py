"""The operators: small changes to a syntax tree, each as a stretch of source and its replacement.

    drop-case       a case of a table, or of a `match`, is removed
    swap-cases      two adjacent cases change places
    weaken          one fact of a condition is removed, or one side of a union or intersection
    negate          a condition, a fact or a comparison is negated
    drop-guard      an `if` is always false                force-guard   it is always true
    drop-operand    one operand of `and`, `or` is removed
    drop-filter     a comprehension loses its filter
    boundary        `>=` becomes `>`, and so on            off-by-one    `+ 1` is removed
    other-end       `min` becomes `max`, `any` becomes `all`, and back
    drop-effect     one of several effects is removed      forget-field  a field is not updated
    drop-statement  a call for its effect, or an assignment, is removed
    swap-statements two adjacent actions change places (an effect is reported before it is done)
    last-of         the greatest, or the least, of several becomes the last one
    part-of-key     one part of a pair that is compared, or sorted by, is removed
    seq-alone       two positions are compared by their numbers alone, without their views

Not changed: texts for people, types, and raised errors (the guards before them are changed).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from attrs import define, frozen

Place = tuple[int, int]

_TURNED = {ast.GtE: ">", ast.Gt: ">=", ast.LtE: "<", ast.Lt: "<="}
_OPPOSITE = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
_WRITTEN = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_DURABLE = {
    *(
        "append",
        "cut",
        "persist",
        "put",
        "rename",
        "replace",
        "sync",
        "sync_data",
        "sync_directory",
    ),
    *("truncate", "write", "write_all", "write_contents", "write_range"),
}
_OTHER_END = {"min": "max", "max": "min", "any": "all", "all": "any"}
_POSITIONS = {"position", "positions", "last", "ours", "theirs", "to"}
_NOT_RECORDS = re.compile(r"(Case|Table|Members|Arrow|StateMachine|\w*Error|Malformed|Said)$")
_SPOKEN = {"__repr__", "__str__"}


@frozen
class Change:
    """A change.  `where`: function, and case of a table.  `start`, `end`: line, column in bytes."""

    where: str
    operator: str
    lines: tuple[int, int]
    start: Place
    end: Place
    text: str


def changes(tree: ast.Module, source: bytes) -> Iterator[Change]:
    """Yield every change of the module, in no particular order."""
    yield from _Walk(source, _cases_of(tree)).body(tree.body, "")


@define
class _Walk:
    """Walks through a module.  `cases`: names of cases, and of functions that make cases."""

    source: bytes
    cases: frozenset[str]
    where: str = ""
    lines: tuple[int, int] = (0, 0)
    bound: frozenset[str] = frozenset()

    # -- statements --------------------------------------------------------------------------

    def body(self, statements: Sequence[ast.stmt], where: str) -> Iterator[Change]:
        for one, two in pairwise(statements):
            if isinstance(one, ast.Expr) and isinstance(two, ast.Expr) and _are_actions(one, two):
                self.where, self.lines = where, (one.lineno, two.end_lineno or two.lineno)
                text = f"{self.text(two)}; {self.text(one)}"
                start = (one.lineno, one.col_offset)
                end = (two.end_lineno or 0, two.end_col_offset or 0)
                yield Change(where or "-", "swap-statements", self.lines, start, end, text)
        for statement in statements:
            self.where = where
            match statement:
                case ast.ClassDef(name=name, body=inner):
                    yield from self.body(inner, f"{where}.{name}".strip("."))
                case (
                    ast.FunctionDef(name=name, body=inner)
                    | ast.AsyncFunctionDef(name=name, body=inner)
                ) if name not in _SPOKEN:
                    outside, self.bound = self.bound, frozenset()
                    yield from self.body(inner, f"{where}.{name}".strip("."))
                    self.bound = outside
                case ast.FunctionDef() | ast.Import() | ast.ImportFrom() | ast.Raise():
                    pass
                case _:
                    yield from self.statement(statement, where)

    def statement(self, statement: ast.stmt, where: str) -> Iterator[Change]:
        inner = [item for item in ast.iter_child_nodes(statement) if isinstance(item, ast.stmt)]
        last = inner[0].lineno - 1 if inner else statement.end_lineno or statement.lineno
        if isinstance(statement, ast.Match):
            last = statement.subject.end_lineno or statement.lineno
        self.lines = (statement.lineno, max(last, statement.lineno))
        yield from self._dropped(statement)
        match statement:
            case ast.If(test=test):
                yield from self._guard(test)
                yield from self.expression(test, is_test=True)
            case ast.While(test=test):
                yield from self.expression(test, is_test=True)
            case ast.For(iter=some):
                yield from self.expression(some)
            case ast.Match(subject=subject, cases=cases):
                yield from self.expression(subject)
                yield from self._cases(cases)
            case ast.Return(value=value) if value is not None:
                yield from self.expression(value)
            case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.Expr(value=value):
                yield from self.expression(value)
            case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
                pass
            case ast.AnnAssign(value=value) if value is not None and self.bound:
                yield from self.expression(value)
        self.bound |= {
            node.id
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        } | {"self"}
        for part in ("body", "orelse", "finalbody"):
            yield from self.body(getattr(statement, part, []), where)
        for handler in getattr(statement, "handlers", []):
            yield from self.body(handler.body, where)
        for case in getattr(statement, "cases", []):
            yield from self.body(case.body, where)

    def _dropped(self, statement: ast.stmt) -> Iterator[Change]:
        match statement:
            case ast.Expr(value=ast.Call()):
                yield self.change("drop-statement", statement, "pass")
            case ast.Assign(targets=[ast.Attribute()]) | ast.AugAssign():
                yield self.change("drop-statement", statement, "pass")
            case ast.Assign(targets=[ast.Name(id=name)]) if name in self.bound:
                yield self.change("drop-statement", statement, "pass")

    def _cases(self, cases: Sequence[ast.match_case]) -> Iterator[Change]:
        for case in cases:
            first, last = case.pattern, case.body[-1]
            self.lines = (first.lineno, first.end_lineno or first.lineno)
            if len(cases) > 1 and not isinstance(last, ast.Raise) and case.guard is None:
                start = (first.lineno, first.col_offset)
                end = (first.end_lineno or 0, first.end_col_offset or 0)
                # A text, because no event equals it; the pattern may be in parentheses.
                yield Change(self.where, "drop-case", self.lines, start, end, '"no event"')
            if case.guard is not None:
                yield from self._guard(case.guard)
                yield from self.expression(case.guard, is_test=True)

    # -- expressions -------------------------------------------------------------------------

    def _guard(self, test: ast.expr) -> Iterator[Change]:
        yield self.change("drop-guard", test, "False")
        yield self.change("force-guard", test, "True")

    def expression(self, node: ast.expr, *, is_test: bool = False) -> Iterator[Change]:
        """Yield the changes of an expression.

        `is_test`: the changes that make it true or false are yielded elsewhere.
        """
        match node:
            case ast.JoinedStr() | ast.Constant() | ast.Lambda():
                return
            case ast.IfExp(test=test, body=yes, orelse=no):
                yield self.change("force-guard", node, f"({self.text(yes)})")
                yield self.change("drop-guard", node, f"({self.text(no)})")
                yield from self.expression(test, is_test=True)
                yield from self.expression(yes)
                yield from self.expression(no)
                return
            case ast.BoolOp(op=op, values=values):
                yield from self._operands(node, op, values)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                yield from self._keys(node, left, right)
                if type(op) in _TURNED:
                    turned = f"{self.text(left)} {_TURNED[type(op)]} {self.text(right)}"
                    yield self.change("boundary", node, turned)
                elif not is_test:
                    other = f"{self.text(left)} {_OPPOSITE[type(op)]} {self.text(right)}"
                    yield self.change("negate", node, other)
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                yield self.change("negate", node, f"({self.text(operand)})")
            case ast.UnaryOp(op=ast.Not(), operand=operand) if not is_test:
                yield self.change("negate", node, f"bool({self.text(operand)})")
            case ast.BinOp(left=left, op=op, right=right):
                yield from self._sides(node, left, op, right)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                yield from self._parts(node, parts)
            case ast.Call():
                yield from self._call(node)
                return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.comprehension):
                for test in child.ifs:
                    yield self.change("drop-filter", test, "True")
                    yield from self.expression(test)
                yield from self.expression(child.iter)
            elif isinstance(child, ast.expr):
                yield from self.expression(child)

    def _operands(
        self, node: ast.expr, op: ast.boolop, values: Sequence[ast.expr]
    ) -> Iterator[Change]:
        word = " and " if isinstance(op, ast.And) else " or "
        for at in range(len(values)):
            rest = [self.text(one) for one in (*values[:at], *values[at + 1 :])]
            text = rest[0] if len(rest) == 1 else word.join(f"({one})" for one in rest)
            yield self.change("drop-operand", node, f"({text})")

    def _sides(
        self, node: ast.expr, left: ast.expr, op: ast.operator, right: ast.expr
    ) -> Iterator[Change]:
        if isinstance(op, ast.BitAnd | ast.BitOr):
            yield self.change("weaken", node, f"({self.text(left)})")
            yield self.change("weaken", node, f"({self.text(right)})")
        elif isinstance(right, ast.Constant) and right.value == 1:
            yield self.change("off-by-one", node, f"({self.text(left)})")
        elif isinstance(op, ast.Sub):
            yield self.change("weaken", node, f"({self.text(left)})")

    def _keys(self, node: ast.Compare, left: ast.expr, right: ast.expr) -> Iterator[Change]:
        op = _WRITTEN.get(type(node.ops[0]))
        match left, right:
            case ast.Tuple(elts=ours), ast.Tuple(elts=theirs) if (
                op and len(ours) == len(theirs) > 1
            ):
                for at in range(len(ours)):
                    pair = [
                        f"({', '.join(self.text(it) for it in (*some[:at], *some[at + 1 :]))},)"
                        for some in (ours, theirs)
                    ]
                    yield self.change("part-of-key", node, f"({pair[0]} {op} {pair[1]})")
        if op in ("==", "!=") and (_is_position(left) and _is_position(right)):
            one, two = (f"getattr({self.text(it)}, 'seq', None)" for it in (left, right))
            yield self.change("seq-alone", node, f"({one} {op} {two})")

    def _parts(self, node: ast.Tuple | ast.List, parts: Sequence[ast.expr]) -> Iterator[Change]:
        if parts and all(_named(part) in self.cases for part in parts):
            yield from self._rows(parts)
        elif any(isinstance(part, ast.Call | ast.Starred) for part in parts):
            for at in range(len(parts)):
                rest = [self.text(one) for one in (*parts[:at], *parts[at + 1 :])]
                inside = ", ".join(rest) + ("," if len(rest) == 1 else "")
                text = f"[{inside}]" if isinstance(node, ast.List) else f"({inside})"
                yield self.change("drop-effect", node, text)

    def _rows(self, cases: Sequence[ast.expr]) -> Iterator[Change]:
        outside = self.where
        for at, case in enumerate(cases[:-1]):
            self.where = f"{outside}/{_slug(case)}"
            after = cases[at + 1]
            start, end = (case.lineno, case.col_offset), (after.lineno, after.col_offset)
            yield Change(self.where, "drop-case", self.lines, start, end, "")
        for one, two in pairwise(cases[:-1]):
            self.where = f"{outside}/{_slug(one)}"
            start = (one.lineno, one.col_offset)
            end = (two.end_lineno or 0, two.end_col_offset or 0)
            text = f"{self.text(two)}, {self.text(one)}"
            yield Change(self.where, "swap-cases", self.lines, start, end, text)
        self.where = outside

    def _call(self, node: ast.Call) -> Iterator[Change]:
        outside, name = self.where, _named(node)
        if name == "isinstance":
            return
        if name in self.cases and len(node.args) > 2:
            self.where = f"{outside}/{_slug(node)}"
            condition = node.args[2]
            if not (isinstance(condition, ast.Name) and condition.id == "ALWAYS"):
                yield self.change("negate", condition, f"~({self.text(condition)})")
        if name in _OTHER_END:
            yield self.change("other-end", node.func, _OTHER_END[name])
        if name in ("min", "max") and len(node.args) == 1:
            some = self.text(node.args[0])
            if isinstance(node.args[0], ast.IfExp):
                some = f"({some})"
            given = [self.text(it.value) for it in node.keywords if it.arg == "default"]
            text = f"next(reversed([*{some}]), {given[0]})" if given else f"[*{some}][-1]"
            yield self.change("last-of", node, text)
        for keyword in node.keywords:
            match keyword.value:
                case ast.Lambda(args=args, body=ast.Tuple(elts=parts)) if keyword.arg == "key":
                    for at in range(len(parts) if len(parts) > 1 else 0):
                        rest = ast.Tuple([*parts[:at], *parts[at + 1 :]], ast.Load())
                        key = self.text(ast.Lambda(args, rest))
                        yield self.change("part-of-key", keyword.value, key)
        is_facts = name in ("where", "every", "_i", "_it")
        is_record = name == "evolve" or (name[:1].isupper() and not _NOT_RECORDS.match(name))
        if is_record and len(node.args) > 1:
            fewer = ast.Call(node.func, node.args[:-1], node.keywords)
            yield self.change("forget-field", node, ast.unparse(fewer))
        for at, keyword in enumerate(node.keywords):
            match keyword.value:
                case ast.Constant(value=bool(value)) if is_facts:
                    yield self.change("negate", keyword.value, str(not value))
            if keyword.arg is not None and (is_record or (is_facts and len(node.keywords) > 1)):
                fewer = ast.Call(node.func, node.args, node.keywords[:at] + node.keywords[at + 1 :])
                operator = "weaken" if is_facts else "forget-field"
                yield self.change(operator, node, ast.unparse(fewer))
        if not name.endswith("Error") and name not in ("Malformed", "Verbatim"):
            for child in (node.func, *node.args, *(keyword.value for keyword in node.keywords)):
                yield from self.expression(child)
        self.where = outside

    # -- small parts -------------------------------------------------------------------------

    def change(self, operator: str, node: ast.expr | ast.stmt, text: str) -> Change:
        end = (node.end_lineno or 0, node.end_col_offset or 0)
        start = (node.lineno, node.col_offset)
        return Change(self.where or "-", operator, self.lines, start, end, text)

    def text(self, node: ast.AST) -> str:
        return ast.unparse(node)


def _named(node: ast.expr) -> str:
    match node:
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name
        case ast.Name(id=name):
            return name
    return ""


def _are_actions(*statements: ast.Expr) -> bool:
    """Return whether all are actions, and one writes to disk, or asks for that."""
    actions = [
        it.value for it in statements if isinstance(it.value, ast.Call | ast.Yield | ast.Await)
    ]
    durable = any(isinstance(it, ast.Yield) or _named(it) in _DURABLE for it in actions)
    return durable and len(actions) == len(statements)


def _is_position(node: ast.expr) -> bool:
    name = ast.unparse(node).rpartition(".")[2]
    return isinstance(node, ast.Name | ast.Attribute) and name in _POSITIONS


def _slug(case: ast.expr) -> str:
    match case:
        case ast.Call(args=[_, ast.Constant(value=str(name)), *_]):
            return re.sub(r"\W+", "-", name)
        case ast.Name(id=name):
            return name.lower().replace("_", "-")
    return "case"


def _cases_of(tree: ast.Module) -> frozenset[str]:
    """Return the names of a module's cases of tables, and of its functions that make a case."""
    made = {"Case"}
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name, returns=ast.Subscript(value=ast.Name(id="Case"))):
                made.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=of))):
                if of in made:
                    made.add(name)
    return frozenset(made)
