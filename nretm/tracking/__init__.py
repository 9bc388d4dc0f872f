"""The Logic Tracker and the state matrix: a rule run over text that grows token by token (sections 2.3 and 2.4)."""

from nretm.tracking.automaton import automaton_for
from nretm.tracking.flags import FlagTable
from nretm.tracking.growing_text import TextReader, reader_for
from nretm.tracking.rows import Row, number_row
from nretm.tracking.state_matrix import BROKEN, COLORS, EDGE, INK, Cell, StateMatrix, matrix_of, state_matrix
from nretm.tracking.token_bytes import TokenBytes
from nretm.tracking.tracker import State, Tracker
from nretm.tracking.witness import Witnesses, witnesses_for
from nretm.tracking.word_tokenizer import WordTokenizer

__all__ = ["BROKEN", "COLORS", "Cell", "EDGE", "FlagTable", "INK", "Row", "State", "StateMatrix", "TextReader",
           "TokenBytes", "Tracker", "Witnesses", "WordTokenizer", "automaton_for", "matrix_of", "number_row",
           "reader_for", "state_matrix", "witnesses_for"]
