"""`gpuregress reject`: results that are known to be wrong."""

from __future__ import annotations

from tests.workshop import RUN, Workshop, accepted, change, revisions, two_differ


def test_what_is_rejected_is_not_accepted_and_is_known_when_it_comes_again(fake_shop: Workshop) -> None:
    two_differ(fake_shop)
    output = fake_shop.call("reject", "scale/n=100", "-m", "three is wrong")
    assert output.stdout == "rejected: scale/n=100: out of revision 1.5\n"
    done = fake_shop.call("accept", "--all")
    assert done.exit_code == 0
    assert "left out: scale/n=100: it was rejected by" in done.stderr
    assert revisions(fake_shop) == {"scale/n=100": "1.4", "scale/n=200": "1.5"}
    assert "three is wrong" in fake_shop.fails(4, "accept", "scale/n=100")
    again = fake_shop.call(*RUN)
    assert again.exit_code == 1
    assert "note: out: known to be bad: rejected by" in again.stdout
    assert "three is wrong" in fake_shop.fails(5, "accept")
    assert fake_shop.call("reject", "--undo", "scale").stdout.startswith("no longer rejected: scale/n=100: out")
    assert fake_shop.call("accept", "--all").exit_code == 0
    assert revisions(fake_shop)["scale/n=100"] == "1.5"


def test_other_bytes_are_not_rejected_with_them(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    change(fake_shop)
    fake_shop.call(*RUN)
    fake_shop.call("reject", "scale")
    change(fake_shop, factor="4.0", revision="1.6")
    assert "known to be bad" not in fake_shop.call(*RUN).stdout
    assert fake_shop.call("accept", "--all").exit_code == 0


def test_only_what_differs_or_is_new_can_be_rejected(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    fake_shop.call(*RUN)
    assert "scale/n=100: pass" in fake_shop.fails(4, "reject", "scale")
    fake_shop.fails(2, "reject", "nothing")
    fake_shop.fails(2, "reject", "--undo", "scale")
    fake_shop.fails(2, "reject")


def test_a_file_of_rejections_that_was_cut_short(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    fake_shop.write("runs/rejected.json", '{"rejected": [')
    runs = sorted((fake_shop.root / "runs").glob("2*"))
    assert "rejected.json: edited or cut short" in fake_shop.fails(4, *RUN)
    assert sorted((fake_shop.root / "runs").glob("2*")) == runs, "nothing was run"
