"""Formula and reading of each metric, by the name without its forms."""

FORMULAS: dict[str, tuple[str, str]] = {
    "advantage": (
        "mean over raters j of the share of j's items on which [S(judge) >= S(j)]",
        "rho: how often the judge is as close to the others as j is; S: the annotator test's score",
    ),
    "hit_rate": (
        "mean of [mode(O^H) = mode(O^J)]",
        "share of items whose most frequent options agree; blind to how close the vote was",
    ),
    "hit_rate_ties_lost": (
        "hit rate where a tied mode never agrees",
        "lower end of what breaking ties at random can give",
    ),
    "hit_rate_ties_won": (
        "hit rate where a tied mode agrees if it can",
        "upper end of what breaking ties at random can give",
    ),
    "cohen_kappa": (
        "(p_o - p_e) / (1 - p_e), p_e = sum_k p^H_k p^J_k",
        "agreement of modes beyond chance, chance being both sides' own marginals",
    ),
    "scott_pi": (
        "(p_o - p_e) / (1 - p_e), p_e = sum_k ((p^H_k + p^J_k) / 2)^2",
        "as kappa, chance being the pooled marginals; Fleiss' kappa for two raters",
    ),
    "krippendorff_alpha_nominal": (
        "1 - D_o / D_e",
        "as Scott's pi, corrected for small samples",
    ),
    "randolph_kappa": (
        "(p_o - 1/K) / (1 - 1/K)",
        "agreement beyond picking among the declared options at random",
    ),
    "kl": (
        "mean of sum_k P_k ln(P_k / Q_k), P -> Q as the row says",
        "nats lost by taking Q for P; infinite (NA) where Q misses an option that P has",
    ),
    "ce": (
        "mean of -sum_k P_k ln Q_k, P -> Q as the row says",
        "as kl, plus the entropy of P: it has no fixed best value",
    ),
    "js_divergence": (
        "mean of (KL(P, M) + KL(Q, M)) / 2, M = (P + Q) / 2, base 2",
        "distance of two distributions in bits: 0 the same, 1 disjoint; always defined",
    ),
    "js_distance": (
        "mean of the square root of the divergence in nats",
        "what many tools print under the name of the divergence",
    ),
    "coverage": (
        "mean of [mode(O^J) in the human set], or as the forms say",
        "how often the judge's answer is one that enough raters allow",
    ),
    "multi_label_recall": (
        "mean of |H and J| / |H|",
        "share of the options that raters allow which the judge allows too",
    ),
    "multi_label_precision": (
        "mean of |H and J| / |J|",
        "share of the options that the judge allows which raters allow too",
    ),
    "predictive_efficiency": (
        "mean of |J|",
        "how many options the judge allows per item; a judge that allows all covers all",
    ),
    "bce": (
        "mean of -sum_k (H_k ln J_k + (1 - H_k) ln(1 - J_k))",
        "each option as a yes/no forecast; infinite (NA) where the judge was sure and wrong",
    ),
    "mse": (
        "mean of sum_k (H_k - J_k)^2",
        "squared distance of the vectors; 0 is best. `mse(srs/srs)` ranks where sets were given",
    ),
    "mse_without_rater_noise": (
        "mse less omega (1 - omega) / (m - 1) per option and side",
        "what the distance would be with any number of raters; may fall below 0 by chance",
    ),
    "decision_consistency": (
        "mean of [(Omega^H_+ >= tau) = (Omega^J_+ >= tau)]",
        "share of items on which raters and judge decide alike at the cut-off",
    ),
    "prevalence_bias": (
        "mean of (Omega^J_+ >= tau) - mean of (Omega^H_+ >= tau)",
        "how many more items the judge calls positive; 0 is best, the sign says which way it errs",
    ),
}

RATERS: dict[str, tuple[str, str]] = {
    "pairwise_agreement": (
        "agreeing pairs of ratings / pairs, over all items",
        "percentage agreement; not the same as majority_share",
    ),
    "majority_share": (
        "ratings of the most frequent option / ratings, then the mean",
        "also called percentage agreement; a different quantity",
    ),
    "two_rater_agreement": (
        "mean of [the two ratings are equal]",
        "percentage agreement where every item has two ratings",
    ),
    "fleiss_kappa": (
        "(P - P_e) / (1 - P_e), P_e = sum_k p_k^2",
        "agreement beyond chance; needs equal numbers of ratings per item",
    ),
    "fleiss_kappa_pooled_pairs": (
        "as Fleiss, each pair of ratings with the same weight",
        "for unequal numbers; items with more ratings count more",
    ),
    "fleiss_kappa_mean_over_items": (
        "as Fleiss, each item with the same weight",
        "for unequal numbers; every item counts the same",
    ),
    "krippendorff_alpha_nominal": (
        "1 - D_o / D_e",
        "takes missing ratings and corrects for small samples",
    ),
    "randolph_kappa": (
        "(P - 1/K) / (1 - 1/K)",
        "chance is picking among the declared options; needs equal numbers of ratings",
    ),
}

BINARY: dict[str, tuple[str, str]] = {
    "accuracy": (
        "(TP + TN) / n",
        "share of items decided alike; high for all when a label is rare",
    ),
    "precision": ("TP / (TP + FP)", "of what the judge calls positive, the share that raters do"),
    "recall": ("TP / (TP + FN)", "of what raters call positive, the share that the judge finds"),
    "f1": ("2 TP / (2 TP + FP + FN)", "blind to true negatives"),
    "precision_negative": ("TN / (TN + FN)", "precision with the classes exchanged"),
    "recall_negative": ("TN / (TN + FP)", "recall with the classes exchanged"),
    "f1_negative": ("2 TN / (2 TN + FP + FN)", "F1 with the classes exchanged"),
    "kappa": ("2 (TP TN - FP FN) / (A + B)", "agreement beyond the marginals of both sides"),
    "phi": (
        "(TP TN - FP FN) / sqrt(A B)",
        "correlation; also MCC, Pearson, Spearman and tau-b",
    ),
    "prevalence": ("(TP + FN) / n", "share that raters call positive"),
    "predicted_rate": ("(TP + FP) / n", "share that the judge calls positive"),
    "marginal_drift": (
        "predicted rate - prevalence",
        "above 0 the judge says positive more often",
    ),
    "p_e": ("agreement by the marginals alone", "what kappa subtracts"),
    "kappa_over_phi": (
        "2 sqrt(A B) / (A + B)",
        "1 without drift; falls as drift costs kappa",
    ),
    "kappa_phi_gap": ("phi - kappa", "how much of the disagreement is drift"),
}
