"""Witnesses: continuations that make a rule come true, found by search and verified by the automaton itself.

The paper steers and does not force.  Forcing rests on this: from a configuration of the rule's automaton, a sequence of
tokens after which the text may end and obeys its rule.  Nothing is believed that was not run: each token of a witness
was a step of the automaton, and its last configuration, if the text ends there, is "satisfied".

The search is best-first.  It writes what the predicates say they need (`Predicate.need`) and, whatever the rule, an
ordinary word, a stop word or the end of a sentence.  Of a vocabulary of at most `SMALL` tokens it tries every token, so
that there it finds a witness whenever there is one, for every rule, predicates of one's own included.  What is learned
is kept by configuration: most questions are answered by a look-up, or by one step and a look-up.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from nretm.rules.formula import And, Or, Rule
from nretm.rules.predicates import Need, Predicate
from nretm.text.policy import TERMINATORS, fold
from nretm.tracking.automaton import Automaton, Configuration, Reading
from nretm.tracking.spelling import spelling_for

SMALL = 64  # tokens of a vocabulary that is searched exhaustively
BUDGET, EXHAUSTIVE = 400, 50_000  # configurations that one search goes on from, in a large and in a small vocabulary
AT_START = 4_000  # the same before the first token, where a rule is taken or refused
CROWD = 4  # configurations that look alike count as a step farther away, so that a search leaves a dead end
HINT = 3  # tokens of a witness that are tried first from like configurations
NEVER = 10**9  # tokens: there is no witness
FAR = 100  # the distance of a literal that is broken unless the open word continues
MOST_TEXTS = 12  # suggestions of predicates that are tried from one configuration
PLAIN = "thing day man time way house people year place work".split()
# Where a predicate does not say what it needs, words have to differ in length and letters.
VARIED = ("apple bird child door evening friend garden hand idea job king letter music name office paper question "
          "river school table uncle voice water yellow zoo go big information understanding").split()


class Known(NamedTuple):
    """What is known of a configuration.

    length   of its witness in tokens; None if no witness is known
    token    that the witness begins with; None if the text may end here
    refuted  no witness of at most so many tokens was found
    """

    length: int | None = None
    token: int | None = None
    refuted: int = -1


UNKNOWN = Known()


class Learned:
    """What is learned of a reading, and goes with it.

    needs      of each literal
    lost       whether each literal is broken if the open word stays as it is
    refuted    no open word with this reading has a witness of so many tokens
    hints      what the witnesses of configurations with this reading begin with, by whether a word is open
    distances  of such configurations, by all that they depend on
    """

    __slots__ = ("needs", "lost", "refuted", "hints", "distances")

    def __init__(self):
        self.needs: list[Need] | None = None
        self.lost: list[bool] | None = None
        self.refuted = -1
        self.hints: dict[bool, tuple[int, ...]] = {}
        self.distances: dict[tuple, tuple[int, int]] = {}


def _learned(at: Reading) -> Learned:
    if at.learned is None:
        at.learned = Learned()
    return at.learned


class Witnesses:
    """Finds the witnesses of one rule; what is known of a configuration is kept there, for as long as it is in use.

    So the witness of a hypothesis is never lost, even if the automaton forgets its states in the middle of a text, and
    nothing is kept of states that are forgotten.
    """

    def __init__(self, automaton: Automaton):
        self.automaton, self._spell = automaton, spelling_for(automaton.reader.token_bytes.tokenizer)
        self._exhaustive = len(self._spell.token_ids) <= SMALL
        self._set_moves()

    def length(self, here: Configuration, room: int) -> int | None:
        """How many tokens a witness from here has, if one of at most `room` is found."""
        known = here.witness or UNKNOWN
        if known.length is not None and known.length <= room:
            return known.length
        if known.refuted >= room:
            return None
        if self.automaton.verdict(here) == "broken":
            here.witness = known._replace(refuted=NEVER)
            return None
        learned, trail, after = _learned(here.now), None, here
        for n, token in enumerate(learned.hints.get(_in_word(here), ()), 1):
            after = self.automaton.step(after, token)
            trail, rest = (trail, token, after), (after.witness or UNKNOWN).length
            if rest is not None and n + rest <= room:
                return self._remember(here, trail, rest)
        if self._exhaustive or not here.tail.tail.strip().isalpha() or self._begun(here):
            return self._search(here, room)
        if learned.refuted >= room:  # words that read alike are as good as one another
            return None
        length = self._search(here, room)
        if length is None:
            learned.refuted = room
        return length

    def next_token(self, here: Configuration) -> int | None:
        """The token that the witness begins with that was found from here; None if the text may end."""
        return here.witness.token

    def may_end(self, here: Configuration) -> bool:
        """Whether the text obeys its rule as it stands."""
        return (here.witness or UNKNOWN).length == 0 or \
            self.automaton.verdict(self.automaton.end(here)) == "satisfied"

    def _search(self, root: Configuration, room: int) -> int | None:
        budget = EXHAUSTIVE if self._exhaustive else AT_START if root is self.automaton.start else BUDGET
        number = itertools.count()
        reached, crowd = {root: 0}, Counter()  # in how many tokens, and how many look alike
        heap = [(0, 0, 0, root, None)]  # distance, tokens, number, configuration, trail: (trail before, token, here)
        if not self._exhaustive and self.distance(root)[1] > room:
            heap = []
        while heap and budget:
            _, cost, _, here, trail = heapq.heappop(heap)
            if reached[here] < cost:
                continue
            if self.may_end(here):
                return self._found(root, trail, 0)
            budget -= 1
            for move in self.moves(here) if trail else self._first_moves(here):
                total, after, steps = cost + len(move), here, trail
                if total > room:
                    continue
                for token in move:
                    after = self.automaton.step(after, token)
                    steps = steps, token, after
                if reached.get(after, room + 1) <= total:
                    continue
                known = after.witness or UNKNOWN
                if known.length is not None and total + known.length <= room:
                    return self._found(root, steps, known.length)
                if known.refuted >= room - total:
                    continue
                if self.automaton.verdict(after) == "broken":
                    continue
                distance, least = self.distance(after)
                if least > room - total and not self._exhaustive:
                    continue
                reached[after] = total
                like = after.now.sentence, after.now.states
                crowd[like] += 1
                heapq.heappush(heap, (distance + crowd[like] // CROWD, total, next(number), after, steps))
        if heap:  # the budget is spent: what was reached may still have a witness
            reached = {root: 0}
        for here, cost in reached.items():
            known = here.witness or UNKNOWN
            here.witness = known._replace(refuted=max(known.refuted, room - cost))
        return None

    def _found(self, root: Configuration, trail, rest: int) -> int:
        length, here, hint = self._remember(root, trail, rest), root, []
        while len(hint) < HINT and (token := here.witness.token) is not None:
            hint.append(token)
            here = here.after[token]
        _learned(root.now).hints[_in_word(root)] = tuple(hint)
        return length

    def _remember(self, root: Configuration, trail, rest: int) -> int:
        """A witness from the root: the trail, and `rest` tokens that are known to follow it."""
        here, length = root if trail is None else trail[2], rest
        if not rest:
            here.witness = Known(0)
        while trail is not None:
            trail, token, _ = trail
            here, length = root if trail is None else trail[2], length + 1
            known = here.witness or UNKNOWN
            if known.length is None or known.length > length:
                here.witness = Known(length, token, known.refuted)
        return length

    def distance(self, here: Configuration) -> tuple[int, int]:
        """How far the rule is from coming true: a sum that each advance lessens, and at least so many tokens."""
        distances, key = _learned(here.now).distances, (here.settled, here.tail.tail.strip().isalpha(), _words(here))
        if key not in distances:
            distances[key] = self._distance(here)
        return distances[key]

    def _distance(self, here: Configuration) -> tuple[int, int]:
        distance, least, most = self._bounds(here)
        sentence, whole = max(here.now.sentence, 1), least.pop(0, 0)
        in_all, last = max(whole, sum(max(words, 0) for words in least.values())), max(least, default=sentence)
        if in_all > most.pop(0, in_all) or any(least.get(k, 0) > words for k, words in most.items()):
            return distance, NEVER
        return distance, max(whole, sum(max(least.get(k, 0), k < last) for k in range(sentence, last + 1)))

    def pressure(self, here: Configuration, room: int) -> float:
        """How much of the room that is left is needed, from 0 to 1: of the tokens, or of the words of this sentence."""
        sentence, most = max(here.now.sentence, 1), self._bounds(here)[2]
        needed = sum(need.words for need, p in zip(self._needs(here.now), self.automaton.predicates, strict=True)
                     if need.texts and p.k == sentence)
        in_sentence = (needed + 1) / max(most[sentence], 1) if needed and sentence in most else 0.0
        return min(1.0, max(in_sentence, self.distance(here)[1] / max(room, 1)))

    def _bounds(self, here: Configuration) -> tuple[int, dict[int, int], dict[int, int]]:
        """The distance, and at least and at most how many words are to come in each sentence (0: in all)."""
        sentence, parts = max(here.now.sentence, 1), {}
        lost, word, held = self._lost(here.now), here.tail.tail.strip().isalpha(), _words(here)
        for i, (now, settled) in enumerate(zip(self._needs(here.now), self._needs(here.settled), strict=True)):
            k, words, most = self.automaton.predicates[i].k, min(now.words, max(settled.words - held, 0)), {}
            if not isinstance(k, int):  # in all or, if it is said of every sentence, in this one
                k = 0 if k is None or self.automaton.negated[i] else sentence
            if settled.most is not None and (not k or k >= sentence):
                most = {k: max(now.most, settled.most)}
            if k < sentence:
                least = {0: words} if words else {}
            else:  # of sentence k, without the ends of the sentences before it
                least = {k: words - (k - sentence)} if words else {}
            if lost[i] and word and settled.most is not None and not self.automaton.negated[i]:
                least = {0: NEVER}  # whatever becomes of a word, it remains one
            parts[self.automaton.literals[i]] = now.words + (here.now.states[i][0] != 2) + FAR * lost[i], least, most
        distance, least, most = _joined(self.automaton.nnf, parts)
        return distance, dict(least), dict(most)

    def _needs(self, at: Reading) -> list[Need]:
        """What each literal needs, by what has been read."""
        learned = _learned(at)
        if learned.needs is None:
            learned.needs = [predicate.need(memory, at, not negated) for predicate, memory, negated in zip(
                self.automaton.predicates, at.memories, self.automaton.negated, strict=True)]
        return learned.needs

    def _begun(self, here: Configuration) -> list[str]:
        """What is missing of needed words that the open word begins."""
        return [rest for settled, (status, _) in zip(self._needs(here.settled), here.now.states, strict=True)
                if status != 2 for text in settled.texts if (rest := _rest(text, here.tail.tail))]

    def _lost(self, at: Reading) -> list[bool]:
        """Whether each literal is broken if the open word stays as it is."""
        learned = _learned(at)
        if learned.lost is None:
            literals = list(zip(self.automaton.predicates, at.memories, self.automaton.negated, strict=True))
            holds = [p.state(memory, at)[0] == 2 for p, memory, _ in literals]
            learned.lost = [true if negated else not true and p.broken(memory, at)
                            for true, (p, memory, negated) in zip(holds, literals, strict=True)]
        return learned.lost

    def moves(self, here: Configuration) -> list[tuple[int, ...]]:
        """Token sequences to try from here, the most promising first."""
        last = here.tail.tail[-1:]
        if not last.isalnum():
            marks = self._marks if last and last not in TERMINATORS else ()  # after a quote, not after a mark
            return [*self.needed(here), *self._apart, *marks, *self._anywhere]
        said = any(self.automaton.negated) or any(self._lost(here.now))
        endings = self._endings if said and not here.tail.tail.endswith(self._prolonged) else ()
        return [*self.needed(here), *self._marks, *endings, *self._anywhere]

    def _first_moves(self, here: Configuration) -> list[tuple[int, ...]]:
        """The same where a search begins: the period after a figure may still become the point of 3.5.

        Any other mark that comes too soon could be mended like that ("car.s"), and is refused because it reads badly.
        """
        number = here.tail.tail[-2:-1].isdigit() and here.tail.tail.endswith(".")
        return [*self.moves(here), *(self._digits if number else ())]

    def needed(self, here: Configuration) -> list[tuple[int, ...]]:
        """Those of them that predicates ask for."""
        texts = dict.fromkeys(self._begun(here))
        for now, (status, _) in zip(self._needs(here.now), here.now.states, strict=True):
            if status != 2:
                texts |= dict.fromkeys(now.texts)
        return [move for text in itertools.islice(texts, MOST_TEXTS)
                if (move := self._spell(text) or self._spell(fold(text)))]  # words match in small letters too

    def _set_moves(self) -> None:
        """What is tried whatever the rule needs; words avoid those that the rule speaks of."""
        spell, reader, predicates = self._spell, self.automaton.reader, self.automaton.predicates
        stop_words = reader.policy.stop_words
        spoken = {word for p in predicates for phrase in p.arguments if isinstance(phrase, str)
                  for word in fold(phrase).split()}

        def shortest(texts) -> list[tuple[int, ...]]:
            spelled = [move for text in texts if text.strip() not in spoken and (move := spell(text))]
            return sorted(spelled, key=len)[:1]

        words = shortest(f" {word}" for word in PLAIN if word not in stop_words)
        if not words or len(words[0]) > 1:  # a small vocabulary, which has other words in one token
            words = shortest(word for word in spell.words if word.strip() not in stop_words) or words
        words += shortest(f" {word}" for word in ("the", "it", "of", *sorted(stop_words)) if word in stop_words)
        if reader.separator_id is not None:
            self._marks = self._apart = [(reader.separator_id,)]
        else:  # a mark ends the sentence where it follows a word; elsewhere it takes a space or a word before it
            marks = [move for mark in ".!?" if (move := spell(mark))][:2]
            spaced = [move for mark in ".!?" if (move := spell(f" {mark}"))][:1]
            self._marks = marks or spaced
            self._apart = spaced or [word + mark for word in words for mark in marks[:1]]
        self._digits = shortest("5012346789")
        self._endings = shortest(spell.endings)  # if "snow" must not be said, perhaps "snows" may
        self._prolonged = tuple(3 * reader.text(ending) for ending in self._endings)  # "snowsssss" leads nowhere
        if any(type(p).need is Predicate.need for p in predicates):
            words += [move for word in VARIED if word not in spoken and (move := spell(f" {word}"))]
        if self._exhaustive:
            words += [(token_id,) for token_id in spell.token_ids.values()]
        self._anywhere = list(dict.fromkeys(words))


@lru_cache(maxsize=256)  # as many as there are automata
def witnesses_for(automaton: Automaton) -> Witnesses:
    """The one collection of witnesses of a rule's automaton."""
    return Witnesses(automaton)


def _in_word(here: Configuration) -> bool:
    """Configurations with one reading that are alike in this are likely, and no more, to have like witnesses."""
    return here.tail.tail[-1:].isalnum()


def _words(here: Configuration) -> int:
    """How many words the open tail has, as it stands."""
    return sum(len(run.words) for run in here.tail.open)


def _rest(text: str, tail: str) -> str | None:
    """What is missing of a word that the tail of the text begins."""
    word, tail = text.lstrip(), tail.lstrip()
    return word[len(tail):] if tail and len(word) > len(tail) and fold(word).startswith(fold(tail)) else None


def _joined(nnf: Rule, parts: dict[Rule, tuple[int, dict[int, int], dict[int, int]]]):
    """The distance of a formula, and at least and at most how many words it takes in each sentence (0: in all)."""
    if not isinstance(nnf, (And, Or)):
        return parts[nnf]
    distances, least, most = zip(*(_joined(part, parts) for part in nnf.parts), strict=True)
    if isinstance(nnf, And):
        return sum(distances), _each(max, least, set().union(*least)), _each(min, most, set().union(*most))
    return (min(distances), _each(min, least, set(least[0]).intersection(*least[1:])),
            _each(max, most, set(most[0]).intersection(*most[1:])))


def _each(choose, counts: tuple[dict[int, int], ...], sentences: set[int]) -> dict[int, int]:
    return {k: choose(words[k] for words in counts if k in words) for k in sentences}
