"""Formula and reading of each metric, by the name without its forms."""

FORMULAS: dict[str, tuple[str, str]] = {
    "advantage": (
        "mean over raters j of the share of j's items on which [S(judge) >= S(j)]",
        "the paper's rho: how often the judge is at least as close to the others as rater j",
    ),
    "hit_rate": (
        "mean of [mode(O^H) = mode(O^J)]",
        "share of items whose most common options agree; blind to how close the vote was",
    ),
    "hit_rate_ties_lost": (
        "hit rate where a tied mode never agrees",
        "least that breaking ties at random can give",
    ),
    "hit_rate_ties_won": (
        "hit rate where a tied mode agrees if it can",
        "most that breaking ties at random can give",
    ),
    "cohen_kappa": (
        "(p_o - p_e) / (1 - p_e), p_e = sum_k p^H_k p^J_k",
        "agreement of modes beyond chance; chance is each side drawing from its own marginal",
    ),
    "scott_pi": (
        "(p_o - p_e) / (1 - p_e), p_e = sum_k ((p^H_k + p^J_k) / 2)^2",
        "chance is both sides drawing from the pooled marginal; Fleiss' kappa of two raters",
    ),
    "krippendorff_alpha_nominal": (
        "1 - D_o / D_e, observed and expected disagreement of the 2 n pooled labels",
        "1 - (1 - scott_pi) (2 n - 1) / (2 n): Scott's pi, corrected for small samples",
    ),
    "randolph_kappa": (
        "(p_o - 1/K) / (1 - 1/K)",
        "agreement beyond uniform guessing among the K declared options",
    ),
    "gwet_ac1": (
        "(p_o - p_e) / (1 - p_e), p_e = sum_k p_k (1 - p_k) / (K - 1), p_k = (p^H_k + p^J_k) / 2",
        "agreement of modes beyond chance; doesn't fall when nearly all labels are one option",
    ),
    "gorodkin_r": (
        "cov(H, J) / sqrt(cov(H, H) cov(J, J)) of one-hot modes, summed over options",
        "correlation of modes; the Matthews correlation (phi) if there are two options",
    ),
    "macro_f1": (
        "mean over options of 2 TP_k / (2 TP_k + FP_k + FN_k); (hrs/hrs): k in both sets or in one",
        "a rare option counts like a common one; options that neither side chose don't count",
    ),
    "micro_f1": (
        "2 sum_k TP_k / sum_k (2 TP_k + FP_k + FN_k)",
        "agreement on all options together; the hit rate if each side has one option",
    ),
    "kl": (
        "mean of sum_k P_k ln(P_k / Q_k), P -> Q as the row says",
        "nats lost by using Q in place of P; infinite (NA) where Q lacks an option that P has",
    ),
    "ce": (
        "mean of -sum_k P_k ln Q_k, P -> Q as the row says",
        "kl plus the entropy of P, so its best value depends on P",
    ),
    "js_divergence": (
        "mean of (KL(P, M) + KL(Q, M)) / 2, M = (P + Q) / 2, base 2",
        "difference of distributions in bits: 0 if equal, 1 if disjoint. Ranks by forced choices",
    ),
    "js_distance": (
        "mean of sqrt(js_divergence of the item in nats)",
        "many tools print this number and call it the divergence",
    ),
    "coverage": (
        "mean of [H and J have an option in common]",
        "share of items on which the judge gives an answer that enough raters allow",
    ),
    "multi_label_recall": (
        "mean of (number of options in both H and J) / (number in H)",
        "share of the raters' options that the judge allows too; items with empty H do not count",
    ),
    "multi_label_precision": (
        "mean of (number of options in both H and J) / (number in J)",
        "share of the judge's options that raters allow too; items with empty J do not count",
    ),
    "predictive_efficiency": (
        "mean of the number of options in J",
        "options that the judge allows per item; one that allows all of them has full coverage",
    ),
    "bce": (
        "mean of -sum_k (H_k ln J_k + (1 - H_k) ln(1 - J_k))",
        "each option is a yes-or-no forecast; infinite (NA) where the judge is certain and wrong",
    ),
    "mse": (
        "mean of sum_k (H_k - J_k)^2",
        "squared distance of the vectors. `mse(srs/srs)` ranks by response sets",
    ),
    "mse_without_rater_noise": (
        "mse minus the mean of sum_k H_k (1 - H_k) / (m^H - 1) + J_k (1 - J_k) / (m^J - 1)",
        "estimates the mse of infinitely many raters and replies; may fall below 0 by chance",
    ),
    "decision_consistency": (
        "mean of [(Omega^H_+ >= tau) = (Omega^J_+ >= tau)]",
        "share of items on which raters and judge decide alike at the cut-off",
    ),
    "prevalence_bias": (
        "mean of (Omega^J_+ >= tau) - mean of (Omega^H_+ >= tau)",
        "share of items that the judge calls positive minus the raters' share; 0 is best",
    ),
}

RATERS: dict[str, tuple[str, str]] = {
    "pairwise_agreement": (
        "agreeing pairs of ratings / pairs, over all items",
        "one of two quantities called percentage agreement; the other is majority_share",
    ),
    "majority_share": (
        "mean over items of (ratings of the most common option / ratings)",
        "the source counts 0 for an item whose ratings all differ; here its share is 1 / m",
    ),
    "two_rater_agreement": (
        "mean of [the two ratings are equal]",
        "percentage agreement of items with exactly two ratings",
    ),
    "fleiss_kappa": (
        "(P - P_e) / (1 - P_e), P = mean over items of agreeing pairs / pairs, P_e = sum_k p_k^2",
        "agreement beyond chance; needs equal numbers of ratings per item",
    ),
    "fleiss_kappa_pooled_pairs": (
        "fleiss_kappa with P = agreeing pairs / pairs over all items",
        "for unequal numbers of ratings; items with more ratings count more",
    ),
    "fleiss_kappa_item_agreements": (
        "fleiss_kappa over items with two or more ratings, p_k of all their ratings",
        "for unequal numbers of ratings; items count alike in P, ratings in P_e",
    ),
    "krippendorff_alpha_nominal": (
        "1 - D_o / D_e",
        "allows missing ratings and corrects for small samples",
    ),
    "randolph_kappa": (
        "(P - 1/K) / (1 - 1/K)",
        "agreement beyond uniform guessing; needs equal numbers of ratings per item",
    ),
    "fleiss_kappa_unequal_raters": (
        "fleiss_kappa with P over items with two or more ratings, p_k = mean share over all items",
        "for any numbers of ratings; items count the same in P and in P_e",
    ),
    "randolph_kappa_unequal_raters": (
        "(P - 1/K) / (1 - 1/K), P over items with two or more ratings",
        "for any numbers of ratings",
    ),
    "gwet_ac1": (
        "(P - P_e) / (1 - P_e), P_e = sum_k p_k (1 - p_k) / (K - 1), p_k = mean share over items",
        "doesn't fall when nearly all ratings are one option; any numbers of ratings",
    ),
    "icc_single": (
        "(MSB - MSE) / (MSB + (k - 1) MSE + k (MSJ - MSE) / n)",
        "named raters who rated every item, on ordered scales: ICC(2,1), how reliable one rater is",
    ),
    "icc_mean": (
        "(MSB - MSE) / (MSB + (MSJ - MSE) / n)",
        "ICC(2,k), how reliable the mean of these k raters is",
    ),
    "jaccard_agreement": (
        "mean over pairs of an item's response sets of options in both / options in either",
        "share of the options that two raters both accept",
    ),
    "krippendorff_alpha_masi": (
        "1 - D_o / D_e, distance 1 - Jaccard x (1 if equal, 2/3 if a subset, 1/3 if they overlap)",
        "agreement on response sets beyond chance; nearly equal sets count in part",
    ),
    "gwet_ac2": (
        "gwet_ac1: pairs count w_kl = 1 - ((x_k - x_l) / (x_max - x_min))^2, P_e sum_kl w_kl / K",
        "ordinal tasks: a near miss counts in part; x are the options' numbers, or 1 to K",
    ),
}

BINARY: dict[str, tuple[str, str]] = {
    "accuracy": (
        "(TP + TN) / n",
        "share of items decided alike; high for every judge when one class is rare",
    ),
    "precision": (
        "TP / (TP + FP)",
        "share of the judge's positives that are positive for the raters",
    ),
    "recall": ("TP / (TP + FN)", "share of the raters' positives that the judge finds"),
    "f1": ("2 TP / (2 TP + FP + FN)", "blind to true negatives"),
    "precision_negative": ("TN / (TN + FN)", "precision with the classes exchanged"),
    "recall_negative": ("TN / (TN + FP)", "recall with the classes exchanged"),
    "f1_negative": ("2 TN / (2 TN + FP + FN)", "F1 with the classes exchanged"),
    "kappa": (
        "2 (TP TN - FP FN) / (A + B)",
        "agreement beyond chance; cohen_kappa of the two classes",
    ),
    "phi": (
        "(TP TN - FP FN) / sqrt(A B)",
        "correlation of the classes; equals MCC, Pearson, Spearman and tau-b",
    ),
    "prevalence": ("(TP + FN) / n", "share that raters call positive"),
    "predicted_rate": ("(TP + FP) / n", "share that the judge calls positive"),
    "marginal_drift": (
        "predicted rate - prevalence",
        "above 0, the judge says positive more often than the raters; 0 is best",
    ),
    "p_e": (
        "((TP + FN)(TP + FP) + (FP + TN)(FN + TN)) / n^2",
        "agreement expected by chance, which kappa subtracts",
    ),
    "kappa_over_phi": (
        "2 sqrt(A B) / (A + B)",
        "1 without marginal drift; the more drift, the lower",
    ),
    "kappa_phi_gap": ("phi - kappa", "how much marginal drift lowers kappa"),
}

ORDINAL: dict[str, tuple[str, str]] = {
    "weighted_kappa_linear": (
        "1 - sum_hj w_hj p_hj / sum_hj w_hj p^H_h p^J_j, w_hj = abs(h - j) / (K - 1)",
        "agreement of modes beyond chance; a near miss costs less than a far one",
    ),
    "weighted_kappa_quadratic": (
        "the same with w_hj = ((h - j) / (K - 1))^2",
        "as before; a near miss costs much less",
    ),
    "krippendorff_alpha_ordinal": (
        "1 - D_o / D_e, squared differences of midranks",
        "agreement of modes beyond chance that reads only the order of options",
    ),
    "krippendorff_alpha_interval": (
        "1 - D_o / D_e, squared differences of the options' numbers",
        "options that are no numbers stand for 1 to K",
    ),
    "krippendorff_alpha_ratio": (
        "1 - D_o / D_e of ((a - b) / (a + b))^2, a and b the options' numbers",
        "only where options are numbers and none is negative",
    ),
    "spearman": (
        "Pearson correlation of midranks of the modes",
        "does not see a constant shift between judge and raters",
    ),
    "kendall_tau_b": (
        "(concordant - discordant pairs of items) / sqrt(pairs untied in H x pairs untied in J)",
        "does not see a constant shift between judge and raters",
    ),
    "gwet_ac2": (
        "gwet_ac1: cells count w_hj = 1 - ((x_h - x_j) / (x_max - x_min))^2, p_e sum_hj w_hj / K",
        "as weighted_kappa_quadratic, but doesn't fall when nearly all labels are one option",
    ),
    "ranked_probability_score": (
        "mean of sum_k (C^H_k - C^J_k)^2 / (K - 1), C_k = O_1 + ... + O_k, k < K",
        "0 if equal, 1 for opposite ends of the scale. Ranks ordinal tasks by forced choices",
    ),
}

NUMERIC: dict[str, tuple[str, str]] = {
    "rmse": (
        "sqrt(mse)",
        "in the unit of the scale; ranks tasks with numbers",
    ),
    "mse": ("mean of (x - y)^2", "includes the noise of the raters' mean"),
    "mean_absolute_error": ("mean of abs(x - y)", "less sensitive to single large errors"),
    "mean_difference": (
        "mean of x - mean of y",
        "above 0, the judge gives higher numbers than the raters; 0 is best",
    ),
    "pearson": ("covariance of x and y / (sd of x, sd of y)", "linear correlation"),
    "spearman": ("Pearson correlation of the midranks of x and y", "correlation of the order"),
    "krippendorff_alpha_interval": (
        "1 - D_o / D_e of squared differences, judge and raters' mean as two raters",
        "falls with a constant shift, which correlations do not see",
    ),
}

TEXTS: dict[str, tuple[str, str]] = {
    "similarity": (
        "mean over items of the mean similarity of the judge's text and each rater's",
        "ranks tasks with texts; `similarity` in task.yaml names the function",
    ),
}

SENSITIVITY: dict[str, tuple[str, str]] = {
    "beta": (
        "pairs with a negative choice whose S has a positive option / pairs with a negative choice",
        "how often a negative choice hides a positive option; pairs are given in one conversation",
    ),
    "cross_call_beta": (
        "mean over items of P(negative choice) P(S meets +) / mean of P(negative choice)",
        "as if independent replies were pairs, as in the paper's figures; no estimate of beta",
    ),
}
