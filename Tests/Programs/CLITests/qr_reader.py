"""Reads a QR code from a screen: a second opinion on what lanyard draws, from ISO/IEC 18004 and not from its code.

Only what lanyard makes is read (byte mode, level M, versions 1 to 10), undamaged and upright; every codeword that mends
is checked.
"""

import collections
import re

# By version: codewords that mend in each block, data codewords of each block, centres of the alignment patterns.
VERSIONS = {
    1: (10, [16], []), 2: (16, [28], [6, 18]), 3: (26, [44], [6, 22]), 4: (18, [32] * 2, [6, 26]),
    5: (24, [43] * 2, [6, 30]), 6: (16, [27] * 4, [6, 34]), 7: (18, [31] * 4, [6, 22, 38]),
    8: (22, [38] * 2 + [39] * 2, [6, 24, 42]), 9: (22, [36] * 3 + [37] * 2, [6, 26, 46]),
    10: (26, [43] * 4 + [44], [6, 28, 50]),
}
MASKS = [
    lambda i, j: (i + j) % 2, lambda i, j: i % 2, lambda i, j: j % 3, lambda i, j: (i + j) % 3,
    lambda i, j: (i // 2 + j // 3) % 2, lambda i, j: i * j % 2 + i * j % 3, lambda i, j: (i * j % 2 + i * j % 3) % 2,
    lambda i, j: ((i + j) % 2 + i * j % 3) % 2,
]
COLOURS = "\x1b[38;5;16;48;5;231m"
END = "\x1b[0m"


def drawn(text):
    """The rows of dots of the code that stands on a screen, its margin checked and taken off."""
    lines = re.findall(re.escape(COLOURS) + "([^\x1b]*)" + re.escape(END), text)
    return without_margin([row for line in lines for row in halves(line)])


def drawn_without_colours(text):
    """The same where the light dots are drawn."""
    lines = [line for line in text.split("\n") if line and set(line) <= set(" \u2580\u2584\u2588")]
    width, _ = collections.Counter(map(len, lines)).most_common(1)[0]  # there is other text of such characters
    rows = [row for line in lines if len(line) == width for row in halves(line)]
    return without_margin([[not dot for dot in row] for row in rows[:width]])


def halves(line):
    assert set(line) <= set(" \u2580\u2584\u2588"), line
    return [[c in "\u2588\u2580" for c in line], [c in "\u2588\u2584" for c in line]]


def without_margin(rows):
    width = len(rows[0])
    for row in rows[:4] + rows[width - 4:]:
        assert not any(row), "the margin is not light"
    inner = [row[4:width - 4] for row in rows[4:width - 4]]
    assert not any(any(row[:4]) or any(row[width - 4:]) for row in rows), "the margin is not light"
    return inner


def read(rows):
    size = len(rows)
    version = (size - 17) // 4
    mending, blocks, centres = VERSIONS[version]
    fixed = patterns(size, version, centres)
    check_patterns(rows, size)
    mask = read_format(rows, size)
    bits = []
    for right, upward in columns(size):
        for row in (range(size - 1, -1, -1) if upward else range(size)):
            for column in (right, right - 1):
                if (row, column) not in fixed:
                    bits.append(rows[row][column] ^ (MASKS[mask](row, column) == 0))
    words = [number(bits[start:start + 8]) for start in range(0, len(bits) - 7, 8)]
    return text(data(words, mending, blocks), version)


def patterns(size, version, centres):
    """Where no data is."""
    fixed = {(r, c) for r in range(9) for c in range(9)}
    fixed |= {(r, c) for r in range(9) for c in range(size - 8, size)}
    fixed |= {(r, c) for r in range(size - 8, size) for c in range(9)}
    fixed |= {(6, i) for i in range(size)} | {(i, 6) for i in range(size)}
    for r in centres:
        for c in centres:
            if (r, c) not in ((6, 6), (6, size - 7), (size - 7, 6)):
                fixed |= {(r + i, c + j) for i in range(-2, 3) for j in range(-2, 3)}
    if version >= 7:
        fixed |= {(i, size - 11 + j) for i in range(6) for j in range(3)}
        fixed |= {(size - 11 + j, i) for i in range(6) for j in range(3)}
    return fixed


def check_patterns(rows, size):
    finder = ["#######", "#.....#", "#.###.#", "#.###.#", "#.###.#", "#.....#", "#######"]
    for top, left in ((0, 0), (0, size - 7), (size - 7, 0)):
        for i, line in enumerate(finder):
            seen = "".join("#" if dot else "." for dot in rows[top + i][left:left + 7])
            assert seen == line, (top, left, seen)
    for i in range(8, size - 8):
        assert rows[6][i] == rows[i][6] == (i % 2 == 0), "timing"
    assert rows[size - 8][8], "the dark module"


def read_format(rows, size):
    first = [rows[8][c] for c in (0, 1, 2, 3, 4, 5, 7, 8)] + [rows[r][8] for r in (7, 5, 4, 3, 2, 1, 0)]
    second = [rows[r][8] for r in range(size - 1, size - 8, -1)] + [rows[8][c] for c in range(size - 8, size)]
    assert first == second, "the two formats differ"
    bits = number(first) ^ 0b101010000010010
    remainder = bits
    for shift in range(4, -1, -1):
        if remainder >> (10 + shift) & 1:
            remainder ^= 0b10100110111 << shift
    assert remainder == 0, "the format is damaged"
    assert bits >> 13 == 0b00, "not level M"
    return bits >> 10 & 0b111


def columns(size):
    right, upward = size - 1, True
    while right > 0:
        if right == 6:
            right -= 1
        yield right, upward
        right, upward = right - 2, not upward


def data(words, mending, blocks):
    """Takes the blocks apart and holds each against its codewords that mend."""
    pieces, place = [[] for _ in blocks], 0
    for index in range(max(blocks)):
        for piece, length in zip(pieces, blocks):
            if index < length:
                piece.append(words[place])
                place += 1
    for _ in range(mending):
        for piece in pieces:
            piece.append(words[place])
            place += 1
    for piece in pieces:
        for power in range(mending):
            value, root = 0, exponent(power)
            for word in piece:
                value = times(value, root) ^ word
            assert value == 0, "a block is damaged"
    return [word for piece, length in zip(pieces, blocks) for word in piece[:length]]


def times(a, b):
    product = 0
    while b:
        if b & 1:
            product ^= a
        a <<= 1
        if a & 0x100:
            a ^= 0x11D
        b >>= 1
    return product


def exponent(power):
    value = 1
    for _ in range(power):
        value = times(value, 2)
    return value


def text(words, version):
    bits = [bool(word >> shift & 1) for word in words for shift in range(7, -1, -1)]
    assert number(bits[:4]) == 0b0100, "not byte mode"
    width = 8 if version < 10 else 16
    count = number(bits[4:4 + width])
    start = 4 + width
    return bytes(number(bits[start + 8 * i:start + 8 * i + 8]) for i in range(count)).decode()


def number(bits):
    return int("".join("1" if bit else "0" for bit in bits), 2)
