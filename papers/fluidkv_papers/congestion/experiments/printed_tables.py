"""Tables 1 to 8 of Congestion as printed: numbers are text, so that digits stay."""

from dataclasses import dataclass

Lengths = tuple[int, ...]


@dataclass(frozen=True)
class PrintedRow:
    """Evictions, mean latency in seconds, requests a second."""

    evictions: str
    latency: str
    throughput: str


@dataclass(frozen=True)
class Routed:
    """One comparison: two segregated nodes, their average, and the mixed pool.

    Fields:
        key: "1", "1-partial", "2", "6" or "7".
        lengths: decode lengths of node 1, of node 2 and of the pool, as labelled.
        nodes, average, mixed: the rows.
        changes: of evictions, latency and throughput, per cent, as printed in the table or in its
            caption.
    """

    key: str
    lengths: tuple[Lengths, Lengths, Lengths]
    nodes: tuple[PrintedRow, PrintedRow]
    average: PrintedRow
    mixed: PrintedRow
    changes: tuple[str, str, str]

    @property
    def rows(self) -> tuple[PrintedRow, PrintedRow, PrintedRow]:
        """Those that are runs: the two nodes and the pool."""
        return (*self.nodes, self.mixed)


TABLE_1 = Routed(
    "1",
    ((20,), (21,), (20, 21)),
    (PrintedRow("908", "107.8", "91.7"), PrintedRow("931", "114.1", "87.0")),
    PrintedRow("919", "111.0", "89.3"),
    PrintedRow("53", "95.1", "105.8"),
    ("-94.2", "-14.3", "18.4"),
)
"""The change of the throughput is not printed: 105.8 over 89.3."""

TABLE_1_PARTIAL = Routed(
    "1-partial",
    ((100,), (125,), (100, 125)),
    (PrintedRow("3296", "367.9", "27.3"), PrintedRow("4121", "473.4", "21.2")),
    PrintedRow("3708", "420.6", "24.2"),
    PrintedRow("2449", "390.4", "25.6"),
    ("-34.0", "-7.2", "5.8"),
)
"""The change of the throughput is printed in Table 7 only."""

TABLE_2 = Routed(
    "2",
    ((5, 10), (6, 12), (5, 6, 10, 12)),
    (PrintedRow("422", "5.44", "2731"), PrintedRow("372", "5.52", "3264")),
    PrintedRow("397", "5.48", "2998"),
    PrintedRow("9", "4.48", "3911"),
    ("-97.7", "-18.2", "30.5"),
)

ModelTable = tuple[tuple[str, str, str], tuple[str, str, str], tuple[str, str, str]]
"""Evictions, latency and throughput of the two nodes and of the pool."""
TABLE_4: ModelTable = (("63", "42.50", "48.2"), ("112", "45.30", "46.8"), ("0", "42.10", "50.0"))
TABLE_5: ModelTable = (("248", "68.20", "38.5"), ("190", "71.40", "37.2"), ("105", "65.30", "42.8"))

TABLE_6 = Routed(
    "6",
    ((50, 75), (77, 84), (50, 75, 77, 84)),
    (PrintedRow("1059", "136.3", "73.4"), PrintedRow("1640", "183.2", "54.8")),
    PrintedRow("1349", "159.8", "64.1"),
    PrintedRow("18", "131.9", "76.2"),
    ("-98.7", "-17.4", "19.0"),
)

TABLE_7 = Routed(
    "7",
    ((100, 200), (125, 250), (100, 125, 200, 250)),
    (PrintedRow("3296", "367.9", "27.3"), PrintedRow("4121", "473.4", "21.2")),
    PrintedRow("3708", "420.6", "24.2"),
    PrintedRow("2449", "390.4", "25.6"),
    ("-34.0", "-7.2", "5.8"),
)

ROUTED = (TABLE_1, TABLE_1_PARTIAL, TABLE_2, TABLE_6, TABLE_7)
ON_VIDUR = (TABLE_1, TABLE_1_PARTIAL, TABLE_6, TABLE_7)
PLACE = {
    "1": "Table 1",
    "1-partial": "Table 1, second configuration",
    "2": "Table 2",
    "6": "Table 6",
    "7": "Table 7",
}

TABLE_3_LENGTHS = (100, 125, 200, 250)
TABLE_3 = (PrintedRow("2232", "234.2", "42.7"), PrintedRow("0", "189.9", "54.8"))
"""Sarathi, and Sarathi with five admissions per iteration at most."""
TABLE_3_CHANGES = ("-100.0", "18.9", "28.3")
TABLE_3_RATE_PER_S, TABLE_3_CAP, TABLE_3_CAPS = 300.0, 5, range(1, 11)

FIGURE_5_SHARE = "25.2"
FIGURE_24_RATE_PER_S = 7000.0
