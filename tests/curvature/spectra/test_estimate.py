from leadline.curvature.spectra.estimate import Estimate, exact_estimate


def test_an_interval_holds_what_lies_in_it_and_says_so_in_words():
    found = Estimate(2.0, 1.5, 2.25, how="probes")
    assert found.error == 0.5
    assert found.holds(1.5)
    assert not found.holds(2.3)
    assert found.holds(2.3, rtol=0.1)
    assert str(found) == "2 [1.5, 2.25] (measured: probes)"
    assert exact_estimate(3, "formula").certified
    assert exact_estimate(3, "formula").error == 0
