# SPDX-License-Identifier: BSD-3-Clause
"""parallel and its clauses, nesting, single, master, masked, scope, sections."""

import pytest
from unisono.omp import *


@omp
def team(n):
    seen = []
    with omp("parallel num_threads(n)"):
        seen.append((omp_get_thread_num(), omp_get_num_threads()))
    return sorted(seen)


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_team_numbers(n):
    assert team(n) == [(i, n) for i in range(n)]


@omp
def conditional(flag):
    sizes = []
    with omp("parallel num_threads(3) if(flag)"):
        sizes.append(omp_get_num_threads())
        omp("barrier")
    return sizes


def test_if():
    assert conditional(True) == [3, 3, 3]
    assert conditional(False) == [1]


@omp
def clauses():
    a, b, c, d = 1, 2, [0], 4
    out = []
    with omp("parallel num_threads(4) private(a) firstprivate(b, c) shared(d)"):
        a = omp_get_thread_num()
        b += a
        c[0] += a
        c.append(a)
        omp("barrier")
        with omp("critical"):
            d += 1
            out.append((a, b, c))
    return a, b, c, d, sorted(out)


def test_data_clauses():
    a, b, c, d, out = clauses()
    assert (a, b, c, d) == (1, 2, [0], 8)
    assert out == [(i, 2 + i, [i, i]) for i in range(4)]


@omp
def private_list():
    box = [0, 0]
    seen = []
    with omp("parallel num_threads(3) private(box)"):
        box[0] = omp_get_thread_num()
        omp("barrier")
        seen.append(box[0])
    return box, sorted(seen)


def test_private_container_is_each_threads_own():
    assert private_list() == ([0, 0], [0, 1, 2])


@omp
def private_unset():
    x = 3
    with omp("parallel num_threads(2) private(x)"):
        return_ = x + 1
    return return_


def test_private_scalar_has_no_value():
    with pytest.raises(UnboundLocalError):
        private_unset()


@omp
def reductions(n):
    add, mul, sub, band, bor, xor, land, lor, lo, hi = 10, 1, 100, 0b1111, 0b0001, 0b0101, True, False, 99, -99
    with omp(
        "parallel num_threads(n) reduction(+:add) reduction(*:mul) reduction(-:sub) reduction(&:band) reduction(|:bor) "
        "reduction(^:xor) reduction(&&:land) reduction(||:lor) reduction(min:lo) reduction(max:hi)"
    ):
        me = omp_get_thread_num()
        add += me + 1
        mul *= me + 2
        sub -= me + 1
        band &= 0b1101 if me == 0 else 0b1111
        bor |= 1 << (me + 1)
        xor ^= 1 << me
        land = land and me != 1
        lor = lor or me == 1
        lo = min(lo, me + 5)
        hi = max(hi, me + 5)
    return add, mul, sub, band, bor, xor, land, lor, lo, hi


@pytest.mark.parametrize("n", [1, 2, 4])
def test_reductions(n):
    mul, bor, xor = 1, 1, 0b0101
    for i in range(n):
        mul *= i + 2
        bor |= 1 << (i + 1)
        xor ^= 1 << i
    total = n * (n + 1) // 2
    assert reductions(n) == (10 + total, mul, 100 - total, 0b1101, bor, xor, n < 2, n > 1, 5, n + 4)


@omp
def objects():
    words, group, common = ["start"], {1}, {1, 2, 3}
    with omp("parallel num_threads(3) reduction(+:words) reduction(|:group) reduction(&:common)"):
        words.append(omp_get_thread_num())
        group.add(omp_get_thread_num() + 10)
        common.discard(omp_get_thread_num() + 1)
    return words, group, common


def test_reduction_of_objects_is_in_thread_order():
    assert objects() == (["start", 0, 1, 2], {1, 10, 11, 12}, set())


@omp
def arrays(np):
    total, low = np.zeros(4), np.full(4, 9.0)
    with omp("parallel num_threads(3) reduction(+:total) reduction(min:low)"):
        total[omp_get_thread_num()] += 1
        low[1] = omp_get_thread_num()
    return total, low


def test_reduction_of_arrays():
    np = pytest.importorskip("numpy")
    total, low = arrays(np)
    assert list(total) == [1, 1, 1, 0] and list(low) == [9, 0, 9, 9]


@omp
def user_defined():
    omp("declare reduction(merge : dict : omp_out.update(omp_in)) initializer(omp_priv = {})")
    table = {"all": 0}
    with omp("parallel num_threads(3) reduction(merge:table)"):
        table[omp_get_thread_num()] = True
    return table


def test_declare_reduction():
    assert user_defined() == {"all": 0, 0: True, 1: True, 2: True}


omp("declare reduction(longest : str : omp_out = max(omp_out, omp_in, key=len)) initializer(omp_priv = '')")


@omp
def module_level_reduction(words):
    best = ""
    with omp("parallel for num_threads(2) reduction(longest:best)"):
        for w in words:
            best = max(best, w, key=len)
    return best


def test_declare_reduction_of_the_module():
    assert module_level_reduction(["a", "bbb", "cc", "dddd", "e"]) == "dddd"


@omp
def nested():
    seen = []
    omp_set_max_active_levels(2)
    with omp("parallel num_threads(2)"):
        outer = omp_get_thread_num()
        with omp("parallel num_threads(3)"):
            me = omp_get_thread_num()
            entry = (
                outer,
                me,
                omp_get_level(),
                omp_get_active_level(),
                omp_get_ancestor_thread_num(1),
                omp_get_team_size(1),
                omp_get_team_size(2),
                omp_get_ancestor_thread_num(0),
                omp_get_ancestor_thread_num(3),
            )
            with omp("critical"):
                seen.append(entry)
    omp_set_max_active_levels(1)
    return sorted(seen)


def test_nested_regions():
    assert nested() == [(o, i, 2, 2, o, 2, 3, 0, -1) for o in range(2) for i in range(3)]


@omp
def nested_off():
    sizes = []
    omp_set_nested(False)
    with omp("parallel num_threads(2)"):
        with omp("parallel num_threads(2)"):
            sizes.append((omp_get_num_threads(), omp_get_level(), omp_get_active_level()))
    return sizes


def test_nested_regions_are_serial_when_switched_off():
    assert nested_off() == [(1, 2, 1)] * 2


@omp
def singles():
    runs, after = [], []
    with omp("parallel num_threads(4)"):
        for k in range(50):
            with omp("single"):
                runs.append(k)
            after.append(len(runs) == k + 1)
            omp("barrier")
    return runs, after


def test_single_runs_once_and_waits():
    runs, after = singles()
    assert runs == list(range(50)) and all(after) and len(after) == 200


@omp
def single_nowait():
    runs = []
    with omp("parallel num_threads(4)"):
        for _ in range(20):
            with omp("single nowait"):
                runs.append(1)
    return len(runs)


def test_single_nowait():
    assert single_nowait() == 20


@omp
def copyprivate():
    got = []
    with omp("parallel num_threads(4) private(x, y)"):
        with omp("single copyprivate(x, y)"):
            x, y = omp_get_thread_num(), object()
        with omp("critical"):
            got.append((x, id(y)))
    return got


def test_copyprivate():
    got = copyprivate()
    assert len(got) == 4 and len(set(got)) == 1


@omp
def masters():
    got = []
    with omp("parallel num_threads(3)"):
        with omp("master"):
            got.append(("master", omp_get_thread_num()))
        with omp("masked filter(2)"):
            got.append(("masked", omp_get_thread_num()))
    with omp("parallel master num_threads(3)"):
        got.append(("both", omp_get_thread_num()))
    return sorted(got)


def test_master_and_masked():
    assert masters() == [("both", 0), ("masked", 2), ("master", 0)]


@omp
def sections(n):
    ran = []
    last = None
    total = 0
    with omp("parallel num_threads(n)"):
        with omp("sections lastprivate(last) reduction(+:total)"):
            with omp("section"):
                ran.append("a")
                last = 1
                total += 1
            with omp("section"):
                ran.append("b")
                last = 2
                total += 10
            with omp("section"):
                ran.append("c")
                last = 3
                total += 100
    return sorted(ran), last, total


@pytest.mark.parametrize("n", [1, 2, 5])
def test_sections(n):
    assert sections(n) == (["a", "b", "c"], 3, 111)


@omp
def parallel_sections():
    ran = []
    with omp("parallel sections num_threads(2)"):
        ran.append("first")
        with omp("section"):
            ran.append("second")
    return sorted(ran)


def test_parallel_sections_with_an_implicit_first_one():
    assert parallel_sections() == ["first", "second"]


@omp
def scope_construct():
    total, members = 0, 0
    with omp("parallel num_threads(4)"):
        with omp("scope reduction(+:total)"):
            total += omp_get_thread_num()
        with omp("critical"):
            members += total == 6
    return total, members


def test_scope():
    assert scope_construct() == (6, 4)


@omp
def first_bound_inside():
    with omp("parallel num_threads(4)"):
        temporary = omp_get_thread_num()
        omp("barrier")
        ok = temporary == omp_get_thread_num()
        with omp("single"):
            result = "set inside"
        assert ok
    return result


def test_bound_inside_and_read_below_is_shared():
    assert first_bound_inside() == "set inside"


@omp
def default_firstprivate():
    a = 5
    with omp("parallel num_threads(2) default(firstprivate)"):
        a += 1
        assert a == 6
    return a


def test_default_firstprivate():
    assert default_firstprivate() == 5


@omp
def sizes_change():
    seen = []
    for n in (1, 4, 2, 3, 1, 4):
        count = 0
        with omp("parallel num_threads(n) reduction(+:count)"):
            count += 1
        seen.append(count)
    return seen


def test_teams_of_changing_size():
    assert sizes_change() == [1, 4, 2, 3, 1, 4]
