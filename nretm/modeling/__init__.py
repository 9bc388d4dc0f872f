"""The neural half: a transformer whose cross-attention sees the state matrix (section 2.5)."""

from nretm.modeling.banked_beams import banked_beam_search
from nretm.modeling.beam_loop import DEAD, Finished, beam_loop, end_tokens
from nretm.modeling.collator import Collator
from nretm.modeling.cross_attention import StateTensors, cross_attentions
from nretm.modeling.diverse_beams import diverse_beam_search
from nretm.modeling.enforcer import Enforcer
from nretm.modeling.equip import FAMILIES, Counts, count, equip, freeze, load, save
from nretm.modeling.generation import HardWord, RuleBroken, Session
from nretm.modeling.state_encoder import encode, flag_tokens
from nretm.modeling.writing import Written, write

__all__ = ["Collator", "Counts", "DEAD", "Enforcer", "FAMILIES", "Finished", "HardWord", "RuleBroken",
           "Session", "StateTensors", "Written", "banked_beam_search", "beam_loop", "count",
           "cross_attentions", "diverse_beam_search", "encode", "end_tokens", "equip", "flag_tokens",
           "freeze", "load", "save", "write"]
