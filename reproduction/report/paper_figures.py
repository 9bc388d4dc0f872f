"""The paper's figures, by table and experiment: they stand beside ours and are never mixed with them.

All are from Wang et al. 2021 (arXiv 2107.13077). `QUOTED` are rows that the paper itself takes from others.
"""

TABLE1 = {  # CSR and ROUGE-L on ROCStories
    "insen-t5": {"CSR": 98.7, "ROUGE-L": 33.1}, "insen-nretm": {"CSR": 98.8, "ROUGE-L": 33.3},
    "order-t5": {"CSR": 97.0, "ROUGE-L": 49.6}, "order-nretm": {"CSR": 97.4, "ROUGE-L": 49.5},
    "r1-t5": {"CSR": 18.5, "ROUGE-L": 32.9}, "r1-nretm": {"CSR": 84.5, "ROUGE-L": 32.6},
    "r2-t5": {"CSR": 23.5, "ROUGE-L": 33.0}, "r2-nretm": {"CSR": 49.4, "ROUGE-L": 33.1},
    "r3-t5": {"CSR": 11.0, "ROUGE-L": 32.9}, "r3-nretm": {"CSR": 35.9, "ROUGE-L": 33.0},
}
TABLE2 = {  # CIDEr, SPICE and concepts mentioned on CommonGen's test set
    "commongen-t5-base": {"CIDEr": 159.5, "SPICE": 31.9, "Seen": 95.4, "Novel": 93.3, "ALL": 94.0},
    "commongen-t5-base-grid": {"CIDEr": 110.7, "SPICE": 27.8, "Seen": 100.0, "Novel": 100.0, "ALL": 100.0},
    "commongen-t5-base-pc": {"CIDEr": 164.4, "SPICE": 32.1, "Seen": 95.7, "Novel": 94.6, "ALL": 95.6},
    "commongen-t5-base-pc-hat": {"CIDEr": 169.8, "SPICE": 32.7, "Seen": 99.5, "Novel": 99.1, "ALL": 99.3},
    "commongen-t5-large": {"CIDEr": 163.6, "SPICE": 32.4, "Seen": 94.4, "Novel": 93.0, "ALL": 93.9},
    "commongen-t5-large-pc": {"CIDEr": 167.3, "SPICE": 33.0, "Seen": 93.9, "Novel": 93.8, "ALL": 93.9},
    "commongen-t5-large-pc-hat": {"CIDEr": 175.0, "SPICE": 33.8, "Seen": 99.6, "Novel": 99.2, "ALL": 99.4},
}
TABLE3 = {  # TED15 zh-en, tst2010-2013
    "ted15-mbart": {"s-BLEU": 23.8, "d-BLEU": 29.6, "SAR": 98.7},
    "ted15-mbart-pc": {"s-BLEU": 24.9, "d-BLEU": 30.4, "SAR": 100.0},
}
TABLE4 = {  # the zero-shot sentence index
    "zeroshot-t5": {"CSA": 19.7, "MR": 95.7, "ROUGE-L": 30.0},
    "zeroshot-nretm": {"CSA": 97.7, "MR": 98.3, "ROUGE-L": 33.3},
}
TABLE_A = {  # CSR with Len and StopWordCount off by at most 0, 1, 2
    "r1-t5": {"CSR": 18.5, "CSR ±1": 67.6, "CSR ±2": 89.2}, "r1-nretm": {"CSR": 84.5, "CSR ±1": 97.0, "CSR ±2": 98.9},
    "r2-t5": {"CSR": 23.5, "CSR ±1": 56.5, "CSR ±2": 78.6}, "r2-nretm": {"CSR": 49.4, "CSR ±1": 76.1, "CSR ±2": 89.9},
    "r3-t5": {"CSR": 11.0, "CSR ±1": 44.9, "CSR ±2": 76.2}, "r3-nretm": {"CSR": 35.9, "CSR ±1": 64.4, "CSR ±2": 82.1},
}
TABLE_B = {  # CSR of every predicate
    "r1-t5": {"InSen_i": 99.5, "InSen_j": 99.0, "Len_j": 38.0, "Len_i": 36.2},
    "r1-nretm": {"InSen_i": 99.5, "InSen_j": 99.3, "Len_j": 89.7, "Len_i": 91.2},
    "r2-t5": {"InSen_i": 99.6, "InSen_j": 99.1, "not InSen_j": 99.1, "Len_i": 23.5, "StopWordCount_i": 18.8},
    "r2-nretm": {"InSen_i": 100.0, "InSen_j": 99.9, "not InSen_j": 99.9, "Len_i": 50.7, "StopWordCount_i": 43.2},
    "r3-t5": {"InSen_i": 99.6, "InSen_j": 99.5, "Len_i": 28.8, "StopWordCount_i": 15.2, "Len_j": 25.3,
              "StopWordCount_j": 13.7},
    "r3-nretm": {"InSen_i": 100.0, "InSen_j": 100.0, "Len_i": 56.4, "StopWordCount_i": 28.6, "Len_j": 55.7,
                 "StopWordCount_j": 27.3},
}
QUOTED = {
    "table2": {"KGBART": {"CIDEr": 168.3, "SPICE": 32.7, "ALL": 98.6}},
    "table3": {"Sen-mBART25": {"d-BLEU": 28.4}, "HAN": {"d-BLEU": 24.0}},
}
