"""Parameter sets, for which keys are made."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path

from . import _native
from ._encryptor import PathLike

__all__ = ["Parameters", "find", "load", "shipped"]


class Parameters:
    """A parameter set: sizes and noise of keys and ciphertexts, with the failure probability and
    the security that follow from them."""

    def __init__(self, parameters: _native.Parameters) -> None:
        self._parameters = parameters

    @property
    def name(self) -> str:
        """The name of the set; a weak set says so in it."""
        return self._parameters.name

    @property
    def message_bits(self) -> int:
        """Bits of a number that one ciphertext holds."""
        return self._parameters.message_bits

    @property
    def carry_bits(self) -> int:
        """Bits of a ciphertext for carries of sums."""
        return self._parameters.carry_bits

    @property
    def lwe_dimension(self) -> int:
        """The length of the small key."""
        return self._parameters.lwe_dimension

    @property
    def glwe_dimension(self) -> int:
        """The number of polynomials of the large key."""
        return self._parameters.glwe_dimension

    @property
    def polynomial_size(self) -> int:
        """The number of coefficients of a polynomial."""
        return self._parameters.polynomial_size

    @property
    def security_bits(self) -> float:
        """The estimated security of the weaker key, in bits."""
        return self._parameters.security_bits

    @property
    def p_fail(self) -> float:
        """The probability that one bootstrap goes wrong."""
        return math.pow(2.0, self._parameters.log2_p_fail)

    def to_toml(self) -> str:
        """The text of a parameter file, as ``tfhe-sbc params find --toml`` writes."""
        return self._parameters.to_toml()

    def save(self, path: PathLike) -> None:
        """Writes a new parameter file."""
        _native.write_new(os.fspath(path), self.to_toml().encode(), False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parameters) and self._parameters == other._parameters

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[Callable[[str], Parameters], tuple[str]]:
        return (_of_toml, (self.to_toml(),))

    def __repr__(self) -> str:
        return (
            f"<Parameters {self.name}: {self.security_bits:.0f} bits of security, p_fail "
            f"2^{self._parameters.log2_p_fail:.1f}>"
        )


def shipped(name: str = "message_2_carry_2") -> Parameters:
    """A parameter set that comes with the library, by its name."""
    return Parameters(_native.Parameters.shipped(name))


def chosen(parameters: Parameters | str | None) -> Parameters:
    """A parameter set, also by the name of one that comes with the library; the default one of `None`."""
    if parameters is None:
        return shipped()
    if isinstance(parameters, str):
        try:
            return shipped(parameters)
        except _native.TfheSbcError as error:
            raise _native.TfheSbcError(
                f"{error}. Keys have no name of their own: Keys.save(directory) writes them, and "
                "Keys.load(directory) reads them"
            ) from None
    if not isinstance(parameters, Parameters):
        raise TypeError(
            f"a parameter set is needed, not a {type(parameters).__name__}: give one of "
            "tfhe_sbc.params, or nothing for the default one"
        )
    return parameters


def load(path: PathLike) -> Parameters:
    """Reads a parameter file. Its claims are checked."""
    return _of_toml(Path(path).read_text())


def _of_toml(text: str) -> Parameters:
    return Parameters(_native.Parameters.from_toml(text))


def find(
    message_bits: int = 2,
    carry_bits: int | None = None,
    p_fail: float = 2.0**-128,
    security_bits: float = 128.0,
) -> Parameters:
    """Searches for the set that is fastest on this number of threads.

    Args:
        message_bits: bits of a number that one ciphertext holds.
        carry_bits: bits for carries; as many as message bits if not given.
        p_fail: the probability that one bootstrap may go wrong with at most.
        security_bits: the least security, in bits.
    """
    if not 0 < p_fail < 1:
        raise ValueError(f"p_fail is a probability, such as 2**-128, not {p_fail}")
    carry = message_bits if carry_bits is None else carry_bits
    return Parameters(
        _native.find_parameters(
            message_bits, carry, math.log2(p_fail), float(security_bits), os.cpu_count() or 1
        )
    )
