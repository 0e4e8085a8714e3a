"""What to do in place of what people know from pandas and cannot be had of encrypted values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

_DECRYPT = "decrypt it with to='pandas', and do it there"
_INDEX = "use [2:5] for rows by their places, and a list of booleans for others"
_ROWS = "use operators on whole columns, such as t * 1.8 + 32 and ts.where(mask, a, b)"
_DISTINCT = "which values there are is encrypted: count them in bins, with value_counts(bins=edges)"
_DOTS = "the names of columns are no attributes: use table['name']"
_FILL = "which readings are missing is encrypted: use fillna with a number or a column, such as shift(1).fillna(0)"

#: By pandas' names what to do.
_INSTEAD = {
    **dict.fromkeys(
        ("plot", "hist", "to_csv", "to_numpy", "values", "tolist", "to_list"), _DECRYPT
    ),
    **dict.fromkeys(("to_frame", "to_dict", "reindex", "interpolate"), _DECRYPT),
    **dict.fromkeys(
        ("corr", "cov", "dot"),
        "columns and tables have it, and Server.query has it of groups: 'cov(a, b)' with by='device'",
    ),
    **dict.fromkeys(("iloc", "loc", "iat", "at"), _INDEX),
    **dict.fromkeys(("apply", "map", "transform", "pipe", "iterrows", "itertuples"), _ROWS),
    **dict.fromkeys(("unique", "nunique", "mode", "duplicated"), _DISTINCT),
    **dict.fromkeys(("ffill", "bfill"), _FILL),
    "index": "the labels of the rows are in .rows",
    "sort_values": "use sort() or top_k(k) of a column, which gives numbers without their rows",
    "nlargest": "use top_k(k), which gives numbers without their rows",
    "nsmallest": "use top_k(k, largest=False), which gives numbers without their rows",
    "expanding": "use cumsum(), cummin() or cummax()",
    "ewm": "use rolling(n).mean()",
    "sem": "use std(ddof=1) and the number of rows, after decryption",
    "astype": "numbers have the step and the range that their column declares: use operators",
    "round": "round after decryption: numbers are exact multiples of their column's step",
    "prod": "use ** or the product of columns",
    "merge": "tables of the same rows are joined with table.assign(name=column)",
    "join": "tables of the same rows are joined with table.assign(name=column)",
    "query": "use table[mask] with an encrypted condition, such as table['t'] > 30",
    "drop": "use table[[…]] with the names of the columns to keep",
}


class Advises:
    """What says what to do in place of pandas' methods that it has not."""

    __slots__ = ()

    #: What to do in place of further names.
    _ADVICE: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            instead = self._ADVICE.get(name) or _INSTEAD.get(name)
            if (
                instead is None
                and not name.startswith("_")
                and name in getattr(self, "_columns", ())
            ):
                instead = _DOTS
            said = f": {instead}" if instead else ""
            kind = type(self).__name__
            raise AttributeError(f"{kind} has no attribute {name!r}{said}", name=name, obj=self)
