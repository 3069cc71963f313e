"""Arithmetic on arrays: numbers in, numbers out. Knows no record; undefined cases raise."""

from isogloss.metrics.agreement import krippendorff_alpha, pairwise_agreement, wilson_interval
from isogloss.metrics.bbq import (
    bbq_s_amb,
    bbq_s_dis,
    bbq_scores,
    esbbq_bias_ambiguous,
    esbbq_bias_disambiguated,
)
from isogloss.metrics.binary import (
    f1,
    f1_always_yes,
    f1_from_counts,
    f1_yes_at_rate,
    mcc,
    mcc_from_counts,
    precision,
    recall,
    youden_j,
    youden_j_from_counts,
)
from isogloss.metrics.bootstrap import bootstrap_counts, percentile_interval, resampled_sums
from isogloss.metrics.crows_pairs import crows_pairs_score
from isogloss.metrics.overlap import adjusted_jaccard, expected_adjusted_jaccard, expected_jaccard, jaccard
from isogloss.metrics.rank import correlation_rows, midranks, spearman, spearman_rows, weighted_spearman
from isogloss.metrics.ratio import ratio
from isogloss.metrics.richness import chao1
from isogloss.metrics.stereoset import stereoset_counts, stereoset_scores

__all__ = [
    "adjusted_jaccard",
    "bbq_s_amb",
    "bbq_s_dis",
    "bbq_scores",
    "bootstrap_counts",
    "chao1",
    "correlation_rows",
    "crows_pairs_score",
    "esbbq_bias_ambiguous",
    "esbbq_bias_disambiguated",
    "expected_adjusted_jaccard",
    "expected_jaccard",
    "f1",
    "f1_always_yes",
    "f1_from_counts",
    "f1_yes_at_rate",
    "jaccard",
    "krippendorff_alpha",
    "mcc",
    "mcc_from_counts",
    "midranks",
    "pairwise_agreement",
    "percentile_interval",
    "precision",
    "ratio",
    "recall",
    "resampled_sums",
    "spearman",
    "spearman_rows",
    "stereoset_counts",
    "stereoset_scores",
    "weighted_spearman",
    "wilson_interval",
    "youden_j",
    "youden_j_from_counts",
]
