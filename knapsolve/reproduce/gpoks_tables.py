"""Tables 1 and 2 of Glimsdal and Granmo as printed, and what an independent prototype got.

Rows by (scheme, q1): paper at 10, 100 and 1000 polls; prototype at the same (None where it did not say). Table 2 by
(scheme, w): paper and prototype at 1000 polls.
"""

PAIRS = ((0.9, 0.1), (0.75, 0.25), (0.55, 0.45))
TABLE_1 = {
    ("GPOKS", 0.90): ((8.0, 88.9, 903.0), (8.00, 88.90, 902.71)),
    ("GPOKS", 0.75): ((7.4, 78.8, 807.9), (7.07, 77.66, 805.59)),
    ("GPOKS", 0.55): ((7.0, 73.5, 749.4), (6.46, 71.78, 747.50)),
    ("GPOKS-Mean", 0.90): ((8.5, 89.7, 902.9), (8.78, 87.8, 895.8)),
    ("GPOKS-Mean", 0.75): ((6.6, 69.6, 792.2), (7.17, 71.6, 784.2)),
    ("GPOKS-Mean", 0.55): ((5.4, 52.8, 725.3), (5.42, 54.0, 714.3)),
    ("LAKG", 0.90): ((6.0, 71.6, 874.9), (6.03, 71.68, 879.0)),
    ("LAKG", 0.75): ((6.9, 74.1, 793.1), (6.93, 74.02, 801.1)),
    ("LAKG", 0.55): ((7.5, 74.8, 749.8), (7.48, 74.99, 751.7)),
}
TABLE_2 = {
    ("GPOKS", 0.0): (808.2, 805.6),
    ("GPOKS", 0.2): (804.5, 804.9),
    ("GPOKS", 0.4): (804.1, 802.7),
    ("GPOKS-Mean", 0.0): (793.9, 788.8),
    ("GPOKS-Mean", 0.2): (787.2, 783.7),
    ("GPOKS-Mean", 0.4): (769.1, 774.3),
}
