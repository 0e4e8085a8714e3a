"""Arithmetic of 32-bit words."""

MASK32 = 0xFFFFFFFF


def rotate_left(x, by):
    return (x << by | x >> (32 - by)) & MASK32
