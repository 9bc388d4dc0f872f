"""States of the predicates, negation included, and predicates that users add."""

import pytest
from kinds import tokenizer

import nretm
from nretm import Copy, InSen, Len, Not, Number, Order, Phrase, Predicate, Sentence, StopWordCount, Tracker, check


def states(literal, text, finish=True):
    """The literal's state after every word of the text and, with `finish`, after its end."""
    tok = tokenizer("wordlevel")
    ids = tok(text)["input_ids"] + [tok.eos_token_id] * finish
    rule = literal if isinstance(literal, nretm.Rule) else nretm.parse(literal)
    return [" ".join(str(x) for x in s.states[0] if x is not None) for s in Tracker(rule, tok).states(ids)]


TEXT = "the car . one tree . the dog"


@pytest.mark.parametrize("literal, expected", [
    (InSen("tree", 2), "0|0|0|1|1|2|2|2|2|2"), (InSen("tree", 3), "0|0|0|0|0|0|1|1|1|0"),
    (Order("car", "tree"), "0|0|1|1|1|2|2|2|2|2"), (Order("tree", "car"), "0|0|0|0|0|1|1|1|1|0"),
    (Copy("dog"), "0|0|0|0|0|0|0|0|2|2"), (Copy("snow"), "0|0|0|0|0|0|0|0|0|0"),
    (Len(2, 3), "0|0|0|1 3|1 2|1 1|2|2|2|2"), (Len(2, 2), "0|0|0|1 2|1 1|1 0|0|0|0|0"),
    (Len(3, 2), "0|0|0|0|0|0|1 2|1 1|1 0|2"), (Len(8), "0|1 7|1 6|1 5|1 4|1 3|1 2|1 1|1 0|2"),
    (StopWordCount(1, 1), "0|1 0|1 0|2|2|2|2|2|2|2"), (StopWordCount(2), "0|1 1|1 1|1 1|1 1|1 1|1 1|1 0|1 0|2"),
    (Not(InSen("tree", 2)), "0|0|0|1|1|0|0|0|0|0"), (Not(InSen("car", 2)), "0|0|0|1|1|1|2|2|2|2"),
    (Not(InSen("car", 4)), "0|0|0|0|0|0|0|0|0|2"), (Not(Copy("snow")), "0|1|1|1|1|1|1|1|1|2"),
    (Not(Copy("car")), "0|1|0|0|0|0|0|0|0|0"), (Not(Order("tree", "car")), "0|1|1|1|1|1|1|1|1|2"),
    (Not(Order("car", "dog")), "0|1|1|1|1|1|1|1|0|0"), (Not(Len(2, 3)), "0|0|0|1 3|1 2|1 1|0|0|0|0"),
    (Not(Len(2, 1)), "0|0|0|1 1|1 0|2|2|2|2|2"), (Not(Len(9)), "0|1 8|1 7|1 6|1 5|1 4|1 3|1 2|1 1|2")])
def test_states_after_every_word(literal, expected):
    assert states(literal, TEXT) == expected.split("|")


def test_translated_once_by_line():
    tok = tokenizer("wordlevel")
    policy = nretm.Policy(separator="</s>")
    tracker = Tracker("translateOnce(1) & (not translateOnce(3))", tok, policy=policy,
                      source="the car </s> a tree </s> the dog </s>")
    ids = tok("en_XX one </s> the </s>")["input_ids"] + [tok.convert_tokens_to_ids("en_XX")]
    assert [s.states for s in tracker.states(ids)] == [
        ((0, None), (0, None)), ((0, None), (0, None)), ((1, None), (0, None)), ((2, None), (0, None)),
        ((2, None), (0, None)), ((2, None), (1, None)), ((2, None), (2, None))]


@pytest.fixture
def starts_with():
    """Sentence k begins with w: the predicate of the README."""

    @nretm.predicate
    class StartsWith(Predicate):
        w: Phrase
        k: Sentence

        def read(self, first, word, sentence, index):
            return word if (sentence, index) == (self.k, 0) else first

        def state(self, first, at):
            return (2 if first == self.w else int(first is None and at.sentence == self.k)), None

        def holds(self, text, tolerance=0):
            return text.words(self.k)[:1] == [self.w]

    yield StartsWith
    del nretm.rules.predicates.REGISTRY["startswith"]


def test_a_users_predicate_is_usable_at_once(starts_with):
    rule = nretm.parse("StartsWith(tree, 2) & Len(1, 3) & (not startswith(dog, 1))")
    assert str(rule) == "StartsWith(tree, 2) & Len(1, 3) & (not StartsWith(dog, 1))" and nretm.parse(str(rule)) == rule
    assert check(rule, "the car. tree one").satisfied and not check(rule, "the car. one tree").satisfied
    tok = tokenizer("wordlevel")
    matrix = nretm.state_matrix(rule, "the car . tree one", tok)
    row = list(matrix.strings[matrix.inputs.index("tree")])
    assert row == ["0 0", "0 1 2", "0 1 1", "1 2", "2 2", "2 2", "2 2"]
    assert states("StartsWith(tree, 2)", "the car . one tree") == ["0", "0", "0", "1", "0", "0", "0"]
    assert matrix.plot(by="predicate").axes


def test_a_predicate_without_arguments():
    @nretm.predicate
    class HasDigit(Predicate):
        def start(self, policy):
            return False

        def read(self, found, word, sentence, index):
            return found or any(map(str.isdigit, word))

        def state(self, found, at):
            return 2 * found, None

        def holds(self, text, tolerance=0):
            return any(map(str.isdigit, text.text))

    assert states("HasDigit() & Copy(car)", "the 3 car") == ["0", "0", "2", "2", "2"]
    assert check("not HasDigit()", "no digit").satisfied
    assert nretm.parse(str(HasDigit())) == HasDigit()
    del nretm.rules.predicates.REGISTRY["hasdigit"]


def test_phrases_are_compared_without_regard_to_case():
    @nretm.predicate
    class Starts(Predicate):
        w: Phrase
        k: Sentence

        def read(self, first, word, sentence, index):
            return word if (sentence, index) == (self.k, 0) else first

        def state(self, first, at):
            return (2 if first == self.w else int(first is None and at.sentence == self.k)), None

        def holds(self, text, tolerance=0):
            return text.words(self.k)[:1] == [self.w]

    rule = nretm.parse("Starts(One, 2)")
    assert str(rule) == "Starts(One, 2)" and rule == Starts("one", 2) and hash(rule) == hash(Starts("ONE", 2))
    assert states(rule, TEXT)[-1] == "2" and check(rule, TEXT).satisfied
    assert not check("Starts(Tree, 2)", TEXT).satisfied
    assert "one" in {rule.w} and rule.w in ("one",) and rule.w != "two" and rule.w != 1
    assert check("InSen(One Tree, 2)", TEXT).satisfied and states("InSen(One Tree, 2)", TEXT)[-1] == "2"
    del nretm.rules.predicates.REGISTRY["starts"]


def test_what_cannot_be_registered():
    with pytest.raises(TypeError, match="derived from nretm.Predicate"):
        nretm.predicate(int)
    with pytest.raises(TypeError, match=r"Lazy has no holds\(\)"):
        @nretm.predicate
        class Lazy(Predicate):
            def state(self, memory, at):
                return 0, None
    with pytest.raises(ValueError, match="Copy is taken"):
        @nretm.predicate
        class Copy(Predicate):  # noqa: F811
            n: Number
            state = holds = lambda self, *_: (0, None)


@pytest.mark.parametrize("make, problem", [
    (lambda: InSen("a", 0), "numbered from 1"), (lambda: InSen("", 1), "must not be empty"),
    (lambda: InSen(3, 1), "must be a word or phrase"), (lambda: Len(1, -1), "must not be negative"),
    (lambda: Len(1, 2.0), "must be a whole number"), (lambda: Len(True), "must be a whole number")])
def test_bad_arguments_in_python(make, problem):
    with pytest.raises(ValueError, match=problem):
        make()


def test_wrong_number_of_arguments_in_python():
    with pytest.raises(TypeError, match="Len takes"):
        Len(1, 2, 3)
