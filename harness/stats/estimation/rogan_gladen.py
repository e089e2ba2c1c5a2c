"""The share that a judge reports, corrected for its sensitivity and specificity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.stats.reasons import Reason  # noqa: TC001 -- readers of a field's type need it

if TYPE_CHECKING:
    from harness.stats.estimation.two_phase import TwoPhaseCounts

LEAST_INFORMATIVE = 0.05  # sensitivity + specificity - 1 below which the correction is undefined


@dataclass(frozen=True, slots=True)
class CorrectedShare:
    """A share after the Rogan-Gladen correction, or the reason that it is undefined.

    Attributes
    ----------
    value : float or None
        None with a ``reason``. The value is limited to [0, 1].
    sensitivity, specificity : float or None
        Sensitivity and specificity of the judge on the labelled items.
    reason : str
        "", "one_label" if all labels are the same, or "judge_uninformative".
    """

    value: float | None
    sensitivity: float | None
    specificity: float | None
    reason: Reason = ""


def corrected_share(counts: TwoPhaseCounts) -> CorrectedShare:
    """Estimate the true share from the share of items to which the judge says yes.

    Rogan and Gladen, Estimating prevalence from the results of a screening test (American Journal
    of Epidemiology 1978): (q + specificity - 1) / (sensitivity + specificity - 1), with q the share
    of unlabelled items to which the judge says yes. `judge_interval` is its interval.

    Parameters
    ----------
    counts : TwoPhaseCounts
        Counts of one data set.
    """
    n_yes = float(counts.yes_yes[0] + counts.yes_no[0])
    n_no = float(counts.no_yes[0] + counts.no_no[0])
    if min(n_yes, n_no) <= 0.0:
        return CorrectedShare(None, None, None, "one_label")
    sensitivity = float(counts.yes_yes[0]) / n_yes
    specificity = float(counts.no_no[0]) / n_no
    informative = sensitivity + specificity - 1.0
    if informative < LEAST_INFORMATIVE:
        return CorrectedShare(None, sensitivity, specificity, "judge_uninformative")
    n = float(counts.judged_yes[0] + counts.judged_no[0])
    said_yes = float(counts.judged_yes[0]) / n
    value = min(max((said_yes + specificity - 1.0) / informative, 0.0), 1.0)
    return CorrectedShare(value, sensitivity, specificity)
